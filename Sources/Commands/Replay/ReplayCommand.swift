import ArgumentParser
import Schema
import StrictJSON

/// `appstore-inbox replay`: posts bodies to ingest again.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Posts raw notifications again, from a file or from the inbox, to a running ingest.",
        discussion: """
            A file holds one body, {"signedPayload": …} or a notification V1 with its shared secret, or one on each line. Notifications V1 \
            go to /apple/v1/notifications, the others to /apple/v2/notifications. A body that the inbox has already becomes a duplicate, \
            which does no harm. After 5xx, 408, 429 or no answer a body is retried with back-off and Retry-After. When a body runs out \
            of time, no further body is started, and the last line says where to continue.

            --event reads with the worker's settings and as appstore_worker. To run events again without a second copy, use \
            appstore.requeue_event in SQL instead. That is the only way for client posts, and for notifications V1, whose secret the \
            inbox does not store.

            With --json each line is one object: {"line" or "event", "result": taken, ready (in a dry run), refused, not_posted or \
            unanswered, "status", "attempts", "reason"}; the last is {"summary": {"counts", "resumeAt"}}.

            Exit codes: 0 each was answered with 200 (a dry run: could be posted), 1 one was not, 2 wrong usage or unreadable input, \
            78 wrong settings.
            """
    )

    @Option(help: "The file to read; - for standard input.", completion: .file()) var from: String?
    @Option(help: ArgumentHelp("An event of the inbox, or a range of them; may be given several times.", valueName: "ID|FIRST-LAST"))
    var event: [String] = []
    @Option(help: "Where to post (default: the address in APPSTORE_INBOX_LISTEN).") var to: String?
    @Option(help: "The first line of the file to post.") var startLine = 1
    @Option(help: "How many bodies are posted at once.") var parallel = 8
    @Option(help: "Seconds for which one body is retried.") var giveUpAfter = 60
    @Flag(help: "Read and check everything, post nothing.") var dryRun = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if (from == nil) == event.isEmpty { throw ValidationError("name either --from FILE or --event ID") }
        for text in event where EventSelection(text) == nil { throw ValidationError("--event must be ID or FIRST-LAST, not \"\(text)\"") }
        if let to, !NotificationPost.isAddress(to) { throw ValidationError("--to must be http://HOST:PORT/PATH, not \"\(to)\"") }
        if startLine < 1 { throw ValidationError("--start-line must be 1 or more, not \(startLine)") }
        if startLine > 1 && from == nil { throw ValidationError("--start-line requires --from") }
        if !(1...64).contains(parallel) { throw ValidationError("--parallel must be 1 to 64, not \(parallel)") }
        if !(0...86_400).contains(giveUpAfter) { throw ValidationError("--give-up-after must be 0 to 86400, not \(giveUpAfter)") }
    }

    func run() async throws {
        let reader = try service.reader(database)
        let tally = try await NotificationPost.withPost(to: to) { try await replay(to: $0, reader) }
        if !tally.isComplete { throw ExitCode.failure }
    }

    private func replay(to post: NotificationPost, _ reader: SettingsReader) async throws -> ReplayTally {
        let replay = Replay(post: post, parallel: parallel, timeLimit: .seconds(giveUpAfter), isDryRun: dryRun)
        if let from {
            do {
                var bodies = try FileBodies(path: from, startLine: startLine)
                return try await run(replay, &bodies)
            } catch let error as InputFile.Unreadable {
                throw ValidationError(error.description)
            }
        } else {
            return try await CommandConnection.with(reader, command: "replay", .worker) { connection in
                var bodies = EventBodies(event.compactMap(EventSelection.init), on: connection)
                return try await run(replay, &bodies)
            }
        }
    }

    private func run(_ replay: Replay, _ bodies: inout some ReplayBodies) async throws -> ReplayTally {
        let report = ReplayReport(isJSON: json, file: from == "-" ? "standard input" : from)
        let tally = try await replay.run(&bodies) { print(report.line($0)) }
        print(report.summary(tally))
        return tally
    }
}

/// Prints a replay: a line for each body and a summary.
private struct ReplayReport {
    let isJSON: Bool
    /// The file's name in the printed text.
    let file: String?

    func line(_ report: Replay.Report) -> String {
        guard isJSON else {
            return "\(place(of: report.origin)): \(words(report.outcome))\(report.attempts > 1 ? ", \(report.attempts) attempts" : "")"
                + (report.problem.map { " (\($0))" } ?? "")
        }
        var line = Self.place(of: report.origin)
        line["result"] = .string(report.outcome.name)
        line["status"] = .optional(report.outcome.status)
        line["attempts"] = .integer(report.attempts)
        line["reason"] = if case .notPosted(let reason) = report.outcome { .string(reason) } else { .optional(report.problem) }
        return Self.text(line)
    }

    func summary(_ tally: ReplayTally) -> String {
        guard isJSON else {
            let names = [
                ("taken", "answered with 200"), ("ready", "would be posted"), ("refused", "refused"), ("not_posted", "not posted"),
                ("unanswered", "without answer"),
            ]
            let counts = names.compactMap { name, words in tally.counts[name].map { "\($0) \(words)" } }
            let all = tally.counts.values.reduce(0, +)
            var text = "\(all) \(all == 1 ? "body" : "bodies")\(counts.isEmpty ? "" : ": " + counts.joined(separator: ", "))"
            switch tally.resumeAt {
            case .line(let line): text += "\nstopped at line \(line): continue with --start-line \(line)"
            case .event(let event): text += "\nstopped at event \(event): continue with --event from there"
            case nil: break
            }
            return text
        }
        let counts = tally.counts.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.integer($0.value)) }
        return Self.text([
            "summary": ["counts": .object(JSONObject(counts)), "resumeAt": .optional(tally.resumeAt.map { Self.place(of: $0) })]
        ])
    }

    private func place(of origin: ReplayItem.Origin) -> String {
        switch origin {
        case .line(let line): "\(file ?? "") line \(line)"
        case .event(let event): "event \(event)"
        }
    }

    private static func place(of origin: ReplayItem.Origin) -> JSONObject {
        switch origin {
        case .line(let line): ["line": .integer(line)]
        case .event(let event): ["event": .integer(event)]
        }
    }

    private func words(_ outcome: ReplayOutcome) -> String {
        switch outcome {
        case .taken: "200"
        case .ready: "would be posted"
        case .refused(let status): "\(status), refused"
        case .notPosted(let reason): "not posted: \(reason)"
        case .unanswered(let status): status.map { "\($0), given up" } ?? "given up"
        }
    }

    private static func text(_ object: JSONObject) -> String {
        JSONSerializer.text(object)
    }
}
