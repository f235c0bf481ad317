import AppStore
import ArgumentParser
import FoundationEssentials
import Postgres
import SQL

/// `appstore-inbox import new`: loads a file.
struct ImportNew: AsyncParsableCommand {
    enum Depth: String, CaseIterable, ExpressibleByArgument {
        case statuses, history
    }

    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Loads a file with ids of customers, about whom workers then ask Apple.",
        discussion: """
            The file is CSV with a first line that names the columns, in any order: original_transaction_id (or transaction_id, of any of the \
            customer's transactions), and, where you have them, user_id, token, environment, bundle_id, revision. A token is the appAccountToken that means the user. Lines of other apps are left out. \
            The same file again goes on where it was. Without --environment, an id that Production does not know is asked in Sandbox, unless \
            the settings name one environment only. An id \
            takes one request; with --depth history one for 20 transactions. Apple allows about 50 a second for an app.
            """
    )

    @Argument(help: ArgumentHelp("The file; - for standard input.", valueName: "FILE"), completion: .file(extensions: ["csv"]))
    var file: String
    @Option(help: "The app, by its bundle id.") var app: String
    @Option(help: "Production or Sandbox, for lines that name none.", completion: .environments) var environment: String?
    @Option(help: "statuses: what customers may use today. history: all their transactions.") var depth = Depth.statuses
    @Flag(help: "Ask once more about a file whose import is done.") var again = false
    @OptionGroup var options: ImportOptions

    func validate() throws {
        if app.isEmpty { throw ValidationError("--app must not be empty") }
        if let environment { try KnownWords.environments.check(environment) }
    }

    func run() async throws {
        // An error of the file is told before the database is needed.
        let sha256 = file == "-" ? nil : try await ImportFile.sha256(of: file)
        let source = try await ImportFile(path: file, bundleID: app)
        let (report, found) = try await load(source, sha256: sha256)
        var unnamed = report.badLines
        for (line, lastLine, why) in report.samples {
            let lines = lastLine > line ? "lines \(line) to \(lastLine)" : "line \(line)"
            LogOutput.standardError.write("\(lines): not imported: \(why)\n")
            unnamed -= lastLine - line + 1
        }
        if unnamed > 0 { LogOutput.standardError.write("\(unnamed) more lines were not imported\n") }
        guard let progress = found else { throw NothingToImport(otherApps: report.otherApps, app: app) }
        let counts =
            "\(report.items) ids, \(report.repeated) repeated lines, \(report.otherApps) lines of other apps, "
            + "\(report.badLines) lines not imported"
        let known = "this file was loaded before; it is \(progress.state)"
        options.print(progress.json, "import \(progress.id): \(report.isKnown ? known : counts)")
    }

    private func load(
        _ source: ImportFile,
        sha256: [UInt8]?
    ) async throws -> (report: ImportLoader.Report, found: ImportProgress?) {
        let name = file == "-" ? "standard input" : URL(filePath: file).lastPathComponent
        let isShown = StandardOutput.isTerminal && !options.json
        // Where workers process one environment only, no other one is asked.
        let processed = try options.service.reader(options.database).required(Settings.environments)
        return try await options.withRegister(changing: true) { register in
            let loader = ImportLoader(
                connection: register.connection,
                fileName: String(decoding: name.utf8.prefix(255), as: UTF8.self),
                bundleID: app,
                environment: environment ?? (processed.count == 1 ? processed.first?.rawValue : nil),
                depth: depth.rawValue,
                again: again
            )
            let report = try await loader.load(source, sha256: sha256) { lines in
                if isShown { StandardOutput.write("\r\u{1B}[K\(lines) lines") }
            }
            if isShown { StandardOutput.write("\r\u{1B}[K") }
            var found: ImportProgress?
            if let id = report.importID { found = try await register.progress(of: id).first }
            return (report, found)
        }
    }
}

/// No line of a file could be imported.
private struct NothingToImport: Error, CustomStringConvertible {
    let otherApps: Int
    let app: String

    var description: String {
        "the file has no line that can be imported" + (otherApps > 0 ? ": \(otherApps) are of other apps than \(app)" : "")
    }
}

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
