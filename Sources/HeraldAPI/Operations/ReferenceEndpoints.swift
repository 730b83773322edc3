import HeraldHTTP

/// The API reference: a page for people, a text for programs that read documentation, and an index of these, `/llms.txt`.
/// `script/openapi` makes page and text of `openapi.yaml`.
struct ReferenceEndpoints: Sendable {
    let publicURL: PublicURL

    var routes: [Route] {
        [("/docs", "docs.html"), ("/docs.css", "docs.css"), ("/docs.txt", "docs.txt"), ("/llms.txt", "llms.txt")].map {
            path, name in
            let file = DashboardFile(name, APIDescription.namingAll(publicURL, EmbeddedFile.bytes(name)))
            return Route(.get, path, needs: nil) { call throws(Problem) in
                call.send(file)
            }
        }
    }
}
