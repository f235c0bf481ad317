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
