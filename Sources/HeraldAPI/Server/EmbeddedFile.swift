import CHeraldResources

/// A file that is part of the binary.
enum EmbeddedFile {
    /// - Parameter name: as in `CHeraldResources/resources.c`; the result is empty for unknown names.
    static func bytes(_ name: String) -> [UInt8] {
        let resource = herald_resource_named(name)
        return Array(UnsafeBufferPointer(start: resource.bytes, count: resource.count))
    }
}
