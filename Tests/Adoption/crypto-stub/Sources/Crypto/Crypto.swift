public enum SHA256 { public static let byteCount = 32 }
