import ArgumentParser
import Schema
import StrictJSON

/// `appstore-inbox import`: customers whose ids are in a file, and what Apple says of them.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Asks Apple about customers whose ids are in a file, and makes their users owners.",
        discussion: """
            Workers that have an In-App Purchase key ask; a terminal or a worker that ends changes nothing. status and misses need a role that \
            may read, such as appstore_viewer; new, pause, resume and stop need appstore_operator. Exit codes: 0 done, 1 refused by the \
            database, a file that cannot be imported, or there is no such import, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [
            ImportNew.self, ImportStatus.self, ImportPause.self, ImportResume.self, ImportStop.self, ImportMisses.self,
        ]
    )
}

/// Options that the commands for imports share.
struct ImportOptions: ParsableArguments, JSONOptions {
    @Flag(help: "Print JSON, one object a line.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    /// Calls the body with the imports in the database, on a connection of its own.
    func withRegister<Value: Sendable>(changing: Bool = false, _ body: (ImportRegister) async throws -> Value) async throws -> Value {
        let reader = try service.reader(database)
        let operating = SchemaExpectation(role: "appstore_operator", function: "begin_import")
        return try await CommandConnection.with(reader, command: "import", changing ? operating : .viewer, deadline: .seconds(600)) {
            try await body(ImportRegister(connection: $0))
        }
    }
}

/// `appstore-inbox import status`: shows how far imports are.
struct ImportStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how far an import is, or the last hundred.",
        discussion: """
            The rate is that of the last ten minutes, without the times in which nothing could be asked. Beside the time left is what Apple's \
            limit allows. --watch shows it every second until none runs.
            """
    )

    @Argument(help: "The number of the import (default: the last hundred).") var id: Int32?
    @Flag(help: "Show it again and again, until no import runs.") var watch = false
    @OptionGroup var options: ImportOptions

    func run() async throws {
        try await options.withRegister { register in
            var shown = 0
            while true {
                let found = try await register.progress(of: id)
                let isOver = !watch || !found.contains { $0.isRunning }
                let isRedrawn = watch && StandardOutput.isTerminal && !options.json
                if isRedrawn, shown > 0 { StandardOutput.write("\u{1B}[\(shown)A\u{1B}[J") }
                if options.json || isRedrawn || !watch || isOver {
                    let lines = options.json ? found.map { JSONSerializer.text($0.json) } : found.flatMap(\.lines)
                    StandardOutput.write(lines.map { $0 + "\n" }.joined())
                    shown = lines.count
                } else {
                    StandardOutput.write(found.filter(\.isRunning).map { "import \($0.id) \($0.bar)\n" }.joined())
                }
                if found.isEmpty, !options.json { StandardOutput.write("There are no imports.\n") }
                if isOver { return }
                try await Task.sleep(for: isRedrawn ? .seconds(1) : .seconds(10))
            }
        }
    }
}

/// `appstore-inbox import pause`.
struct ImportPause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Lets the workers ask nothing more for an import, until resume."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "paused") }
}

/// `appstore-inbox import resume`.
struct ImportResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets an import that was paused or stopped go on where it was."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "running") }
}

/// `appstore-inbox import stop`.
struct ImportStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Ends an import. Users of ids that Apple has answered become owners; the other ids are misses. They go 90 days later."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "stopped") }
}

extension ImportOptions {
    fileprivate func change(_ id: Int32, to state: String) async throws {
        let found = try await withRegister(changing: true) { register in
            _ = try await register.progress(of: id)
            try await register.change(id, to: state)
            return try await register.progress(of: id)
        }
        for progress in found { self.print(progress.json, "import \(progress.id) is \(progress.state)") }
    }
}

/// `appstore-inbox import misses`: lists the ids that brought nothing.
struct ImportMisses: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misses",
        abstract: "Lists the ids that Apple did not know or refused, users that could not become owners, and tokens that were refused.",
        discussion: "What --csv prints can be imported again."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @Flag(help: "Print CSV with a header.") var csv = false
    @OptionGroup var options: ImportOptions

    func validate() throws {
        if csv, options.json { throw ValidationError("--csv and --json exclude each other") }
    }

    func run() async throws {
        try await options.withRegister { register in
            let lastLine = try await register.progress(of: id).first?.lastLine ?? 0
            if csv { StandardOutput.write(ImportMiss.csv(ImportMiss.head) + "\r\n") }
            var isFirst = true
            for line in stride(from: 0, to: lastLine, by: ImportRegister.page) {
                let misses = try await register.misses(of: id, after: line)
                if misses.isEmpty { continue }
                if csv {
                    StandardOutput.write(misses.map { ImportMiss.csv($0.fields) + "\r\n" }.joined())
                } else if options.json {
                    StandardOutput.write(misses.map { JSONSerializer.text($0.json) + "\n" }.joined())
                } else {
                    let head = isFirst ? [ImportMiss.head.map { $0.uppercased() }] : []
                    let lines = Columns.lines(head + misses.map { $0.fields.map(\.onOneLineSafely) })
                    StandardOutput.write(lines.map { $0 + "\n" }.joined())
                }
                isFirst = false
            }
            if isFirst, !csv, !options.json { StandardOutput.write("There are none.\n") }
        }
    }
}
