import CHeraldResources

/// A file that is part of the binary.
enum EmbeddedFile {
    /// - Parameter name: as in `CHeraldResources/resources.c`; of another file nothing is returned.
    static func bytes(_ name: String) -> [UInt8] {
        let resource = herald_resource_named(name)
        return Array(UnsafeBufferPointer(start: resource.bytes, count: resource.count))
    }
}
