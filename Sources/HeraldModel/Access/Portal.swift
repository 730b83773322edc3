/// The appearance of an app's dashboard for the users of its portal links, and the pages that may show it in a frame.
package struct Portal: Equatable, Sendable {
    package enum Language: String, CaseIterable, Sendable {
        case english = "en"
        case german = "de"
    }

    /// Shown instead of the name of the product; `nil` for that name.
    package var title: String?
    /// A `data:` URL of a picture; `nil` for the mark of the product.
    package var logo: String?
    /// The color of buttons, `#rrggbb`; `nil` for that of the product.
    package var color: String?
    package var language: Language
    /// The origins whose pages may show the dashboard in a frame, such as `https://shop.example`.
    package var frameOrigins: [String]

    package init(
        title: String? = nil, logo: String? = nil, color: String? = nil, language: Language = .english,
        frameOrigins: [String] = []
    ) {
        self.title = title
        self.logo = logo
        self.color = color
        self.language = language
        self.frameOrigins = frameOrigins
    }
}
