import Foundation
import StatementGeneration

/// Writes Swift source with the contents of text files: `embed-files OUTPUT FOLDER FILE…`, where OUTPUT is a folder, too.
///
/// `EmbeddedFiles.swift`: a file `console.css` becomes the bytes `EmbeddedFiles.console_css`, and with its path in FOLDER an element of
/// `EmbeddedFiles.all`, in order of the arguments.
///
/// `Statements.swift`, where FOLDER is that of the SQL: what programs send. Each file of `statements/` becomes a function, as does each function
/// of `functions/` that `grants.sql` lets a role execute: `Statement.claimEvent(contract:eventID:lane:)`.
@main
enum EmbedFiles {
    static func main() {
        do {
            try embed(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func embed(_ arguments: [String]) throws {
        guard arguments.count > 2 else { throw Mistake(text: "usage: embed-files OUTPUT FOLDER FILE…") }
        let files = try arguments.dropFirst(2).map { try EmbeddedFile(path: $0, folder: arguments[1]) }
        for (name, same) in Dictionary(grouping: files, by: \.identifier) where same.count > 1 {
            throw Mistake(text: "\(same.map(\.path).joined(separator: " and ")) are all EmbeddedFiles.\(name)")
        }
        let output = URL(filePath: arguments[0])
        let embedded = files.filter { !$0.path.hasPrefix("statements/") }
        try write(bytes(embedded), to: output.appending(path: "EmbeddedFiles.swift"))
        if embedded.count < files.count {
            try write(StatementSource.source(of: statements(files)), to: output.appending(path: "Statements.swift"))
        }
    }

    private static func write(_ source: String, to url: URL) throws {
        try Data(source.utf8).write(to: url)
    }

    private static func bytes(_ files: [EmbeddedFile]) -> String {
        let members = files.map { "    static let \($0.identifier) = Array(\($0.literal).utf8)\n" }
        let all = files.map { "        (\"\($0.path)\", \($0.identifier)),\n" }
        return """
            enum EmbeddedFiles {
            \(members.joined())
                static let all: [(path: String, bytes: [UInt8])] = [
            \(all.joined())    ]
            }

            """
    }

    private static func statements(_ files: [EmbeddedFile]) throws -> [StatementText] {
        var types = SchemaTypes()
        var granted: Set<String> = []
        for file in files where file.path.hasPrefix("tables/") || file.path.hasPrefix("views/") { try file.reading { try types.read($0) } }
        for file in files where file.path == "grants.sql" { try file.reading { granted = try grantedFunctions($0) } }
        return try files.flatMap { file in
            try file.reading { text in
                if file.path.hasPrefix("statements/") { return [try StatementText(path: file.path, text: text, types: types)] }
                guard file.path.hasPrefix("functions/") else { return [] }
                return try FunctionSignature.all(in: text, types: types).filter { granted.contains($0.name) }
                    .compactMap { try StatementText(path: file.path, function: $0, types: types) }
            }
        }
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
    private let text: String
    private static let quote = "\"\"\"###"

    init(path: String, folder: String) throws {
        url = URL(filePath: path)
        guard path.hasPrefix(folder) else { throw EmbedFiles.Mistake(text: "\(path) is not in \(folder)") }
        self.path = String(path.dropFirst(folder.count).drop { $0 == "/" })
        text = try String(contentsOf: url, encoding: .utf8)
        guard !text.contains(Self.quote), !text.contains("\\###") else {
            throw EmbedFiles.Mistake(text: "\(path) contains a quote or escape of three #")
        }
    }

    /// The name with an underscore in place of each character that no identifier has.
    var identifier: String {
        let name = String(url.lastPathComponent.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_" + name : name
    }

    var literal: String { "###\"\"\"\n\(text)\n\(Self.quote)" }

    /// Calls `body` with the text. What is wrong with it is an error of the file.
    func reading<Value>(_ body: (String) throws -> Value) throws -> Value {
        do {
            return try body(text)
        } catch let error as StatementError {
            throw EmbedFiles.Mistake(text: "\(url.path):\(error.line): error: \(error.message)")
        }
    }
}
