import Foundation

/// Writes Swift source with the contents of text files: `embed-files OUTPUT FOLDER FILE…`.
///
/// A file `console.css` becomes the bytes `EmbeddedFiles.console_css`, and with its path in FOLDER an element of `EmbeddedFiles.all`, in order of
/// the arguments. A statement of SQL, which is a file of `statements`, becomes a `StatementFile` as well: `merge_contracts.sql` becomes
/// `StatementFile.mergeContracts`.
@main
enum EmbedFiles {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        guard let output = arguments.first, let folder = arguments.dropFirst().first else {
            throw Mistake(text: "usage: embed-files OUTPUT FOLDER FILE…")
        }
        let files = try arguments.dropFirst(2).map { try EmbeddedFile(path: $0, folder: folder) }
        for (name, same) in Dictionary(grouping: files, by: \.identifier) where same.count > 1 {
            throw Mistake(text: "\(same.map(\.path).joined(separator: " and ")) are all EmbeddedFiles.\(name)")
        }
        let source = try bytes(files) + statements(files.filter(\.isStatement))
        try Data(source.utf8).write(to: URL(filePath: output))
    }

    private static func bytes(_ files: [EmbeddedFile]) throws -> String {
        let members = try files.map { "    static let \($0.identifier) = Array(\(try $0.literal()).utf8)\n" }
        let all = files.map { "        (\"\($0.path)\", \($0.identifier)),\n" }
        return """
            enum EmbeddedFiles {
            \(members.joined())
                static let all: [(path: String, bytes: [UInt8])] = [
            \(all.joined())    ]
            }

            """
    }

    private static func statements(_ files: [EmbeddedFile]) -> String {
        guard !files.isEmpty else { return "" }
        let members = files.map {
            "    package static let \($0.statement) = StatementFile(name: \"\($0.name)\", bytes: EmbeddedFiles.\($0.identifier))\n"
        }
        let all = files.map(\.statement).joined(separator: ", ")
        return """
            package import Postgres
            extension StatementFile {
            \(members.joined())
                package static let all: [StatementFile] = [\(all)]
            }

            """
    }

    struct Mistake: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }
}

private struct EmbeddedFile {
    /// The path in the folder, such as `statements/merge_contracts.sql`.
    let path: String
    private let url: URL
    private static let quote = "\"\"\"###"

    init(path: String, folder: String) throws {
        url = URL(filePath: path)
        guard path.hasPrefix(folder) else { throw EmbedFiles.Mistake(text: "\(path) is not in \(folder)") }
        self.path = String(path.dropFirst(folder.count).drop { $0 == "/" })
    }

    /// The name without its ending.
    var name: String { url.deletingPathExtension().lastPathComponent }
    var isStatement: Bool { path.hasPrefix("statements/") }

    /// The name with an underscore in place of each character that no identifier has.
    var identifier: String {
        let name = String(url.lastPathComponent.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_" + name : name
    }

    /// `read_api_key` as `readAPIKey`.
    var statement: String {
        let words = name.split(separator: "_").map { $0 == "api" ? "API" : $0.prefix(1).uppercased() + $0.dropFirst() }
        return name.prefix { $0 != "_" } + words.dropFirst().joined()
    }

    func literal() throws -> String {
        let text = try String(contentsOf: url, encoding: .utf8)
        guard !text.contains(Self.quote), !text.contains("\\###") else {
            throw EmbedFiles.Mistake(text: "\(path) contains a quote or escape of three #")
        }
        return "###\"\"\"\n\(text)\n\(Self.quote)"
    }
}
