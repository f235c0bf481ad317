import Foundation

/// Writes Swift source with the contents of text files: `embed-files OUTPUT FILE…`. A file `10_inbox.sql` becomes `EmbeddedFiles._0_inbox_sql`.
@main
enum EmbedFiles {
    static func main() throws {
        let paths = CommandLine.arguments.dropFirst()
        guard let output = paths.first else { throw Mistake(text: "usage: embed-files OUTPUT FILE…") }
        var source = "enum EmbeddedFiles {\n"
        var names: [String: String] = [:]
        for path in paths.dropFirst() {
            let name = identifier(of: URL(filePath: path).lastPathComponent)
            if let other = names.updateValue(path, forKey: name) {
                throw Mistake(text: "\(path) and \(other) are both EmbeddedFiles.\(name)")
            }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            guard !text.contains(quote), !text.contains("\\###") else {
                throw Mistake(text: "\(path) contains a quote or escape of three #")
            }
            source += "    static let \(name) = Array(###\"\"\"\n\(text)\n\(quote).utf8)\n"
        }
        try Data((source + "}\n").utf8).write(to: URL(filePath: output))
    }

    private static let quote = "\"\"\"###"

    /// The name with an underscore in place of each character that no identifier has.
    private static func identifier(of file: String) -> String {
        let name = String(file.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_" + name.dropFirst() : name
    }

    struct Mistake: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }
}
