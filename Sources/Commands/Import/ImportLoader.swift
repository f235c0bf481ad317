import Postgres
import SQL

/// Loads a file into an import, some thousand lines at a time.
struct ImportLoader: Sendable {
    /// What was loaded.
    struct Report: Sendable {
        /// Nil where no line could be imported.
        var importID: Int32?
        /// The same file was imported before.
        var isKnown = false
        var items = 0
        var repeated = 0
        var otherApps = 0
        var badLines = 0
        /// The first ones, of which a quote without its end has several.
        var samples: [(line: Int, lastLine: Int, why: String)] = []

        fileprivate mutating func refuse(_ line: Int, to lastLine: Int? = nil, _ why: String) {
            let lastLine = lastLine ?? line
            badLines += lastLine - line + 1
            if samples.count < 20 { samples.append((line, lastLine, why)) }
        }
    }

    let connection: Connection
    /// The last part of the path.
    let fileName: String
    let bundleID: String
    /// Nil to ask Production first, then Sandbox.
    let environment: String?
    let depth: String
    /// Whether a file that was imported is imported once more.
    let again: Bool

    private static let batch = 5000
    /// The longest time between two batches, also empty ones: the database removes what was not touched for an hour.
    private static let pause = Duration.seconds(60)

    /// - Parameters:
    ///   - sha256: nil where only the end of the file tells.
    ///   - progress: called with the lines so far.
    func load(_ file: ImportFile, sha256: [UInt8]?, progress: (Int) -> Void) async throws -> Report {
        var source = file
        var report = Report()
        let begun = try await connection.query(
            .beginImport(bundleID: bundleID, environment: environment, depth: depth, fileName: fileName, fileSHA256: sha256, again: again)
        )[0]
        let id: Int32 = try begun.decode("import_id")
        guard try begun.decode("is_new", as: Bool.self) else {
            report.importID = id
            report.isKnown = true
            return report
        }
        var items: [ImportColumns.Item] = []
        var added = ContinuousClock.now
        while true {
            let records = try await source.next()
            for record in records {
                switch source.columns.line(record) {
                case .item(let item): items.append(item)
                case .otherApp: report.otherApps += 1
                case .bad(let why): report.refuse(record.line, to: record.lastLine, why)
                }
            }
            guard items.count >= Self.batch || records.isEmpty || .now - added > Self.pause else { continue }
            try await add(items, to: id, &report)
            items = []
            added = .now
            progress(report.items + report.repeated)
            if records.isEmpty { break }
        }
        report.samples.sort { $0.line < $1.line }
        let finish = Statement.finishImport(
            importID: id,
            fileSHA256: source.sha256(),
            badLines: Int32(clamping: report.badLines),
            again: again
        )
        report.importID = try await connection.query(finish)[0].decode(0)
        report.isKnown = report.importID != nil && report.importID != id
        return report
    }

    private func add(_ items: [ImportColumns.Item], to id: Int32, _ report: inout Report) async throws {
        let withToken = items.filter { $0.token != nil }
        let row = try await connection.query(
            .addImportItems(
                importID: id,
                lines: items.map { Int32(clamping: $0.line) },
                ids: items.map(\.id),
                userIDs: items.map(\.userID),
                environments: items.map(\.environment),
                revisions: items.map(\.revision),
                tokenLines: withToken.map { Int32(clamping: $0.line) },
                tokens: withToken.compactMap(\.token)
            )
        )[0]
        let added = Int(try row.decode("added", as: Int32.self))
        let contradicting: [Int32] = try row.decode("contradicting")
        report.items += added
        report.repeated += items.count - added - contradicting.count
        for line in contradicting { report.refuse(Int(line), "an earlier line names another user or environment for this id") }
    }
}
