extension [Member?] {
    /// Calls the closure with the delegate of each member that is there.
    /// - Returns: the members whose delegate was released; usually none, which costs nothing.
    @inlinable @inline(__always)
    func forEachDelegate<Delegate>(_: Delegate.Type, _ body: (Delegate) -> Void) -> [Member] {
        var released: [Member] = []
        #if DEBUG
            // With fewer frames between caller and delegate, for the debugger.
            for case let member? in self {
                if let delegate = member.delegate(Delegate.self) {
                    body(delegate)
                } else if !member.isRemoved {
                    released.append(member)
                }
            }
        #else
            let weak = ObjectIdentifier(WeakMember.self)
            withUnsafeBufferPointer { members in
                // The array holds the members for the whole round. Not retaining each of them saves half of the time.
                for member in UnsafeRawBufferPointer(members).bindMemory(to: Unmanaged<Member>?.self) {
                    member?._withUnsafeGuaranteedRef { member in
                        if member.isRemoved { return }
                        if ObjectIdentifier(type(of: member)) != weak {
                            body(unsafeDowncast(member, to: StrongMember<Delegate>.self).delegate)
                        } else if let delegate = unsafeDowncast(member, to: WeakMember.self).load(Delegate.self) {
                            body(delegate)
                        } else {
                            released.append(member)
                        }
                    }
                }
            }
        #endif
        return released
    }
}
