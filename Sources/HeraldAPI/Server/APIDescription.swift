/// The description of the API in OpenAPI, as the server answers it.
public enum APIDescription {
    public static var json: [UInt8] { PackageResources.openapi_json }
    public static var yaml: [UInt8] { PackageResources.openapi_yaml }
}
