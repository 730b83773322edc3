import HeraldCrypto
import HeraldJSON
import HeraldRuntime

/// The flags for `portal` of an app: its dashboard as the users of its links see it.
enum PortalFlags {
    static let all = [
        flag("title", "TEXT", "The name on the pages of its links, instead of Herald."),
        flag("logo", "FILE", "A picture for these pages: PNG, JPEG, GIF or WebP, at most 18 KB."),
        flag("color", "#RRGGBB", "The color of buttons and marks, such as #0b5cad."),
        flag("language", "LANGUAGE", "The language of these pages: en, de.", values: ["en", "de"]),
        flag("frame-origins", "LIST", "The origins whose pages may frame them, such as https://shop.example."),
    ]

    private static func flag(
        _ name: String, _ placeholder: String, _ help: String, values: [String] = []
    ) -> Command.Flag {
        Command.Flag(
            "portal-" + name, placeholder, help, values: values, member: "portal/" + name.replaced("-", by: "_"))
    }

    /// The member `portal` of a request; `nil` without these flags.
    static func json(_ call: Invocation) throws(CommandError) -> RawJSON? {
        var members: [(String, RawJSON)] = []
        for flag in all {
            guard let text = call[flag.name], let member = flag.member?.dropFirst("portal/".utf8.count) else {
                continue
            }
            let value: RawJSON =
                switch member {
                case _ where text == "default": .value(JSONNull())
                case "logo": .value(try picture(text))
                case "frame_origins": .value(call.list(flag.name) ?? [])
                default: .value(text)
                }
            members.append((String(member), value))
        }
        guard !members.isEmpty else { return nil }
        return .object { portal in for (name, value) in members { portal.member(name, value) } }
    }

    /// The `data:` URL of a picture. Its first bytes decide the type; the server refuses other files.
    private static func picture(_ path: String) throws(CommandError) -> String {
        let bytes = try Input.file(path)
        let types: [(name: String, beginning: [UInt8])] = [
            ("png", [0x89, 0x50, 0x4E, 0x47]), ("jpeg", [0xFF, 0xD8, 0xFF]), ("gif", Array("GIF8".utf8)),
            ("webp", Array("RIFF".utf8)),
        ]
        guard let type = types.first(where: { bytes.starts(with: $0.beginning) }) else {
            throw CommandError("\(path) is no PNG, JPEG, GIF or WebP picture.", exitCode: ExitCode.data)
        }
        return "data:image/\(type.name);base64," + Base64.encode(bytes)
    }
}
