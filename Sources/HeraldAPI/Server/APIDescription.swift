/// The OpenAPI description of the API, as served.
package enum APIDescription {
    package static let json = EmbeddedFile.bytes("openapi.json")
    package static let yaml = EmbeddedFile.bytes("openapi.yaml")
}
