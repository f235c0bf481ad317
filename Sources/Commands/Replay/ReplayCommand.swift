import ArgumentParser
import Logging
import Postgres

/// `appstore-inbox replay`: feeds bodies through ingest's door again.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Posts raw notifications again, from a file or from the inbox, to a running ingest.",
        discussion: """
            A file holds one body, {"signedPayload": …} or a notification V1 with its shared secret, or one on each line; a notification \
            V1 goes to /apple/v1/notifications where the others go to /apple/v2/notifications. What has been taken before becomes a \
            duplicate: to post too much does no harm. 5xx, 408, 429 and no answer are tried again with back-off and Retry-After; when \
            a body's time is over, no further one is begun, and the last line says where to go on. --event reads with the worker's \
            settings and as appstore_worker; to run events again where they are, without a copy of them, use appstore.requeue_event in SQL \
            instead. That is the only way for what clients posted and for notifications V1, whose secret the inbox does not keep.

            With --json each line is one object: {"line" or "event", "result": taken, ready (of a dry run), refused, not_posted or \
            unanswered, "status", "attempts", "reason"}; the last is {"summary": {"counts", "resumeAt"}}.

            Exit codes: 0 each was answered with 200 (a dry run: could be posted), 1 one was not, 2 wrong usage or unreadable input, \
            78 wrong settings.
            """
    )

    @Option(help: "The file to read; - for standard input.") var from: String?
    @Option(help: ArgumentHelp("An event of the inbox, or a range of them; may be given several times.", valueName: "ID|FIRST-LAST"))
    var event: [String] = []
    @Option(help: "Where to post (default: the ingest of this machine, as APPSTORE_INBOX_LISTEN has it).") var to: String?
    @Option(help: "The first line of the file to post.") var startLine = 1
    @Option(help: "How many are posted at once.") var parallel = 8
    @Option(help: "Seconds for which one body is tried.") var giveUpAfter = 60
    @Flag(help: "Read and check everything, post nothing.") var dryRun = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if (from == nil) == event.isEmpty { throw ValidationError("name either --from FILE or --event ID") }
        for text in event where EventSelection(text) == nil { throw ValidationError("--event must be ID or FIRST-LAST, not \"\(text)\"") }
        if let to, NotificationPost(url: to) == nil { throw ValidationError("--to must be http://HOST:PORT/PATH, not \"\(to)\"") }
        if startLine < 1 { throw ValidationError("--start-line must be 1 or more, not \(startLine)") }
        if startLine > 1 && from == nil { throw ValidationError("--start-line is about a file") }
        if !(1...64).contains(parallel) { throw ValidationError("--parallel must be 1 to 64, not \(parallel)") }
        if !(0...86_400).contains(giveUpAfter) { throw ValidationError("--give-up-after must be 0 to 86400, not \(giveUpAfter)") }
    }

    func run() async throws {
        let reader = try service.reader(database)
        let post = try NotificationPost.configured(url: to)
        defer { post.close() }
        let replay = Replay(post: post, parallel: parallel, patience: .seconds(giveUpAfter), isDryRun: dryRun)
        let tally: ReplayTally
        if let from {
            do {
                var bodies = try FileBodies(path: from, startLine: startLine)
                tally = try await run(replay, &bodies)
            } catch let error as FileLines.Unreadable {
                throw ValidationError(error.description)
            }
        } else {
            let options = try ConnectionOptions(DatabaseSettings(reader), command: "replay", role: "appstore_worker")
            let connection = try await Connection.open(options, logger: try Logger.service("replay", reader))
            var bodies = EventBodies(event.compactMap(EventSelection.init), on: connection)
            tally = try await run(replay, &bodies)
            await connection.close()
        }
        if !tally.isComplete { throw ExitCode.failure }
    }

    private func run(_ replay: Replay, _ bodies: inout some ReplayBodies) async throws -> ReplayTally {
        let report = ReplayReport(isJSON: json, file: from == "-" ? "standard input" : from)
        let tally = try await replay.run(&bodies) { print(report.line($0)) }
        print(report.summary(tally))
        return tally
    }
}
