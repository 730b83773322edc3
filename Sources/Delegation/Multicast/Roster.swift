/// Members in the order of registration, found by the address of their object. Adding, finding and removing take constant
/// time on average.
///
/// A hash table with open addressing has the number of each member's slot. The slot of a removed member stays empty until
/// there are as many empty ones as others.
struct Roster {
    /// Empty slots are `nil`.
    private(set) var slots: [Member?] = []
    private(set) var count = 0
    /// The number of a slot, plus 1; 0 is free.
    private var table: [UInt32] = []

    /// The member with this address.
    func member(at address: UInt) -> Member? { slot(of: address).flatMap { slots[$0] } }

    /// Adds a member. With keys, several may have its address: an object whose key has changed, and on platforms that reuse the
    /// memory of a released object, one that is found to be released later.
    mutating func append(_ member: Member) {
        if (slots.count + 1) * 4 > table.count * 3 { rebuild() }
        slots.append(member)
        count += 1
        enter(slots.count - 1, at: member.address)
    }

    /// Puts a member in the place of one with the same address.
    mutating func replace(_ old: Member, by new: Member) -> Bool {
        guard let slot = slot(of: old) else { return false }
        slots[slot] = new
        new.succeed(old)
        return true
    }

    /// Removes a member, which the caller holds: with it the delegate may be released.
    /// - Returns: whether it was there.
    @discardableResult
    mutating func remove(_ member: Member) -> Bool {
        guard let slot = slot(of: member) else { return false }
        _ = empty(slot)
        return true
    }

    /// Removes the member with this address.
    mutating func remove(at address: UInt) -> Member? { slot(of: address).flatMap { empty($0) } }

    private mutating func empty(_ slot: Int) -> Member? {
        let member = slots[slot].take()
        member?.remove()
        count -= 1
        if slots.count > 2 * count + 16 { rebuild() }
        return member
    }

    private func slot(of address: UInt) -> Int? { slot(from: address) { $0.address == address } }

    private func slot(of member: Member) -> Int? { slot(from: member.address) { $0 === member } }

    @inline(__always)
    private func slot(from address: UInt, where isWanted: (Member) -> Bool) -> Int? {
        if table.isEmpty || address == 0 { return nil }
        var place = start(address)
        while table[place] != 0 {
            let slot = Int(table[place] - 1)
            if let member = slots[slot], isWanted(member) { return slot }
            place = place + 1 == table.count ? 0 : place + 1
        }
        return nil
    }

    private mutating func enter(_ slot: Int, at address: UInt) {
        var place = start(address)
        while table[place] != 0 { place = place + 1 == table.count ? 0 : place + 1 }
        table[place] = UInt32(slot + 1)
    }

    /// Where in the table to begin. The multiplication spreads addresses, which are multiples of 16.
    private func start(_ address: UInt) -> Int {
        let spread = UInt64(address) &* 0x9E37_79B9_7F4A_7C15
        return Int(spread.multipliedFullWidth(by: UInt64(table.count)).high)
    }

    /// Closes the gaps, and makes room for more: a quarter, and at least 4.
    private mutating func rebuild() {
        let capacity = count + max(4, count / 4)
        var members: [Member?] = []
        members.reserveCapacity(capacity)
        for case let member? in slots { members.append(member) }
        slots = members
        table = Array(repeating: 0, count: capacity * 4 / 3 + 2)
        for slot in slots.indices {
            if let address = slots[slot]?.address { enter(slot, at: address) }
        }
    }
}
