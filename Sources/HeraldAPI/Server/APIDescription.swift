/// The OpenAPI description of the API, as served.
public enum APIDescription {
    public static let json = EmbeddedFile.bytes("openapi.json")
    public static let yaml = EmbeddedFile.bytes("openapi.yaml")
}
