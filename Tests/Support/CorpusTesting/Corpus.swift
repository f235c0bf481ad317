package import Foundation

/// Payloads, receipts and bodies that Apple really signed or sent, in a folder outside the project that `APPSTORE_INBOX_CORPUS` names. They
/// are other companies' data, so the project does not contain them.
package enum Corpus {
    package static let folder = folder(named: "APPSTORE_INBOX_CORPUS")
    package static let isAbsent = folder == nil

    /// The bytes of a file, given by its path in the folder.
    package static func bytes(_ path: String) throws -> [UInt8] {
        guard let folder else { throw CocoaError(.fileNoSuchFile) }
        return Array(try Data(contentsOf: folder.appending(path: path)))
    }

    /// The text of a file without white space around it.
    package static func text(_ path: String) throws -> String {
        String(decoding: try bytes(path), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The entries of the `index.json` of a folder whose files are there.
    package static func index<Entry: CorpusEntry>(of subfolder: String, as type: Entry.Type = Entry.self) throws -> [Entry] {
        guard let folder else { return [] }
        return try JSONDecoder().decode([Entry].self, from: Data(try bytes("\(subfolder)/index.json"))).filter {
            FileManager.default.fileExists(atPath: folder.appending(path: "\(subfolder)/\($0.file)").path)
        }
    }

    /// The names of the files in a folder.
    package static func files(of subfolder: String) throws -> [String] {
        guard let folder else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: subfolder).path).sorted()
    }

    static func folder(named variable: String) -> URL? {
        ProcessInfo.processInfo.environment[variable].map { URL(filePath: $0, directoryHint: .isDirectory) }
    }
}

/// An entry of an `index.json`.
package protocol CorpusEntry: Decodable, Sendable {
    /// The file, relative to the index.
    var file: String { get }
}
