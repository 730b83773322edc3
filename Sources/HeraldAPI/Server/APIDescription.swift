/// The description of the API in OpenAPI, as the server sends it.
public enum APIDescription {
    public static let json = EmbeddedFile.bytes("openapi.json")
    public static let yaml = EmbeddedFile.bytes("openapi.yaml")
}
