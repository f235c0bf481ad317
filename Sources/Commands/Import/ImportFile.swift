import FoundationEssentials
import OpenSSL

/// A file to import, read in parts: memory holds a part and no more.
struct ImportFile {
    private let file: InputFile
    private var parser = CSVParser()
    private let digest = SHA256Stream()
    private var isAtEnd = false
    let columns: ImportColumns
    /// Records that were read and not handed out.
    private var records: [CSVParser.Record]

    /// Reads the line that names the columns.
    ///
    /// - Throws: ``ImportColumns/Unusable``, or ``InputFile/Unreadable``.
    init(path: String, bundleID: String) async throws {
        file = try InputFile(path: path)
        var records: [CSVParser.Record] = []
        while records.isEmpty, !isAtEnd {
            let bytes = try await file.read()
            isAtEnd = bytes.isEmpty
            digest.update(bytes)
            records = isAtEnd ? [parser.finish()].compactMap(\.self) : parser.parse(bytes)
        }
        columns = try ImportColumns(records.first, bundleID: bundleID)
        self.records = Array(records.dropFirst())
    }

    /// The next records; empty at the end.
    mutating func next() async throws -> [CSVParser.Record] {
        while records.isEmpty, !isAtEnd {
            let bytes = try await file.read()
            isAtEnd = bytes.isEmpty
            digest.update(bytes)
            records = isAtEnd ? [parser.finish()].compactMap(\.self) : parser.parse(bytes)
        }
        defer { records = [] }
        return records
    }

    /// Of all bytes that were read, when all were.
    func sha256() -> [UInt8] { digest.digest() }

    /// The SHA-256 of a file that can be read a second time; nil for a pipe.
    static func sha256(of path: String) async throws -> [UInt8]? {
        guard InputFile.isRegular(path) else { return nil }
        let file = try InputFile(path: path)
        let digest = SHA256Stream()
        while true {
            let bytes = try await file.read()
            if bytes.isEmpty { return digest.digest() }
            digest.update(bytes)
        }
    }
}

/// The columns of a file to import, in the order of its header.
struct ImportColumns {
    /// A header that cannot be used.
    struct Unusable: Error, CustomStringConvertible {
        let description: String
    }

    /// A line that is imported.
    struct Item: Hashable, Sendable {
        let line: Int
        let id: String
        let userID: String?
        let environment: String?
        let revision: String?
        /// The appAccountToken that means the user.
        let token: UUID?
    }

    /// What becomes of a line.
    enum Line: Hashable {
        case item(Item)
        /// It is about another app.
        case otherApp
        /// It is not imported, for this reason.
        case bad(String)
    }

    private enum Name: String, CaseIterable {
        case originalTransactionID = "original_transaction_id"
        case transactionID = "transaction_id"
        case userID = "user_id"
        case environment
        case bundleID = "bundle_id"
        case revision
        case token
        // What `import misses --csv` adds, so that its output can be imported.
        case line, why, asked
    }

    private let names: [Name]
    private let bundleID: String

    /// - Parameter header: nil where the file is empty.
    init(_ header: CSVParser.Record?, bundleID: String) throws(Unusable) {
        guard let header else { throw Unusable(description: "the file is empty: its first line must name the columns") }
        if let flaw = header.flaw { throw Unusable(description: "line \(header.line), which names the columns: \(flaw)") }
        var names: [Name] = []
        for field in header.fields {
            let text = Self.text(field)?.trimmingSpaces ?? ""
            guard let name = Name(rawValue: text) else {
                let known = Name.allCases.map(\.rawValue)
                let hint = text.nearest(among: known).map { ": did you mean \($0)?" } ?? ": they are \(known.joined(separator: ", "))"
                throw Unusable(
                    description: "there is no column \(text.quotedUnlessSecret)\(hint) Columns are separated by commas, and line "
                        + "\(header.line) must name them."
                )
            }
            if names.contains(name) { throw Unusable(description: "the column \(name.rawValue) is there twice") }
            names.append(name)
        }
        let ids: [Name] = [.originalTransactionID, .transactionID]
        switch ids.filter(names.contains).count {
        case 0: throw Unusable(description: "the column original_transaction_id is missing: line \(header.line) must name it")
        case 1: break
        default: throw Unusable(description: "there are two columns with ids: leave original_transaction_id or transaction_id out")
        }
        self.names = names
        self.bundleID = bundleID
    }

    func line(_ record: CSVParser.Record) -> Line {
        if let flaw = record.flaw { return .bad(flaw) }
        guard record.fields.count == names.count else {
            return .bad("it has \(record.fields.count) fields, and there are \(names.count) columns")
        }
        var values: [Name: String] = [:]
        for (name, field) in zip(names, record.fields) {
            guard let text = Self.text(field) else { return .bad("\(name.rawValue) is not UTF-8, or holds a zero byte") }
            if !text.isEmpty { values[name] = text }
        }
        if let app = values[.bundleID], app != bundleID { return .otherApp }
        guard let id = values[.originalTransactionID] ?? values[.transactionID] else { return .bad("the id is missing") }
        // Spreadsheets turn long numbers into others, such as 2.00001E+15.
        guard id.utf8.count <= 32, id.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return .bad("the id is no transaction id: those have only digits")
        }
        if let environment = values[.environment], !KnownWords.environments.words.contains(environment) {
            return .bad("environment is neither Production nor Sandbox")
        }
        if let user = values[.userID], user.unicodeScalars.count > 255 { return .bad("user_id is longer than 255 characters") }
        if let revision = values[.revision], revision.utf8.count > 1000 { return .bad("revision is longer than 1000 bytes") }
        let token = values[.token].flatMap(UUID.init)
        if values[.token] != nil {
            // Orders of renewals have version 8.
            guard let token, token.uuid.6 >> 4 != 8 else { return .bad("token is no UUID, or one of version 8") }
            guard values[.userID] != nil else { return .bad("there is a token, but no user_id") }
        }
        return .item(
            Item(
                line: record.line,
                id: id,
                userID: values[.userID],
                environment: values[.environment],
                revision: values[.revision],
                token: token
            )
        )
    }

    private static func text(_ field: [UInt8]) -> String? {
        field.contains(0) ? nil : String(validating: field, as: UTF8.self)
    }
}

extension String {
    fileprivate var trimmingSpaces: String { String(drop { $0 == " " }).trimmingSuffix(" ") }
}
