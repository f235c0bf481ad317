import AppStore
import ArgumentParser
import FoundationEssentials
import Glibc
import InboxQueue
import Logging
import Postgres
import Schema
import StrictJSON
import UnixSignals

/// `appstore-inbox tail`: prints events as they are settled.
struct TailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Prints a line for each event when it is settled, and the last ones first.",
        discussion: """
            Changes nothing. Needs a role that may read, such as appstore_viewer. What it prints is a customer's data.

            A line has the time (UTC), type and subtype or the source, app, result and reason, the owner of the contract that the event is \
            about and what it gives until when, the number of the event, and the time from its arrival to its outcome. Of an event that \
            was rejected, failed or is unhandled, appstore-inbox explain shows the cause. An event that is requeued has a line for each run.

            An event must meet all conditions. The last events that do are searched among the latest 10,000.

            With --json each line is one object with the members event_id, run, received_at, settled_at, milliseconds, source, \
            notification_type, subtype, environment, bundle_id, result, reason, transaction_id, original_transaction_id, user_id, \
            product_id, entitlements, until (an instant, "infinity", or null) and active. Colours are for terminals only, and not with \
            NO_COLOR.

            While the database is away it waits, and then goes on without a gap. It ends with Ctrl-C, SIGTERM, or when its pipe is closed.

            Exit codes: 0 ended, 1 the database could not be asked, 2 wrong usage, 78 wrong settings.
            """
    )

    @OptionGroup(title: "Conditions") var filter: TailFilter
    @Option(help: "How many of the events that are settled already are printed first, 0 to 1000.") var last = 10
    @Flag(name: .customLong("no-follow"), help: "Print only these, and end.") var doesNotFollow = false
    @Flag(help: "Print JSON objects.") var json = false
    @OptionGroup(title: "Settings") var database: DatabaseOptions
    @OptionGroup(title: "Settings") var service: ServiceOptions

    func validate() throws {
        if !(0...1000).contains(last) { throw ValidationError("--last must be 0 to 1000, not \(last)") }
    }

    func run() async throws {
        let reader = try service.reader(database)
        let viewing = SchemaExpectation(role: "appstore_viewer", function: "find_events")
        await (try CommandConnection.open(reader, command: "tail", viewing)).close()
        let tail = Tail(
            options: try ConnectionOptions(DatabaseSettings(reader), command: "tail", role: "appstore_viewer"),
            logger: try Logger.service("tail", reader),
            filter: filter,
            last: last,
            follows: !doesNotFollow,
            printer: TailPrinter(isJSON: json, isColoured: StandardOutput.showsColours(ProcessInfo.processInfo.environment))
        )
        // The end of the reader is no failure: the tail finds it when it writes or polls.
        signal(SIGPIPE, SIG_IGN)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [tail] in
                var tail = tail
                try await tail.run()
            }
            group.addTask { for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { return } }
            try await group.next()
            group.cancelAll()
        }
    }
}

/// The events that a tail shows: those that meet every given condition.
struct TailFilter: ParsableArguments {
    @Option(help: ArgumentHelp("Events of this app.", valueName: "bundle-id")) var app: String?
    @Option(help: "Events of this type, or type and subtype, such as DID_RENEW or SUBSCRIBED/RESUBSCRIBE.") var type: String?
    @Option(help: "Events with this result: \(results.words.joined(separator: ", ")).") var outcome: String?
    @Option(help: "Events about contracts and orders of this user.") var user: String?

    private static let results = KnownWords(option: "--outcome", words: Outcome.Result.allCases.map(\.rawValue))
    private static let types = KnownWords(
        option: "--type",
        words: Set(
            NotificationMatrix.pairs.flatMap { type, subtype in
                [type.rawValue] + (subtype.map { ["\(type.rawValue)/\($0.rawValue)"] } ?? [])
            } + NotificationTypeV1.documented.map(\.rawValue)
        ).sorted()
    )

    func validate() throws {
        if let outcome { try Self.results.check(outcome) }
        if let type { try Self.types.check(type) }
    }

    /// The conditions, named as the members of `appstore.repair_filter`, which does not know the user.
    var conditions: JSONText {
        let parts = type?.split(separator: "/", maxSplits: 1).map(String.init) ?? []
        let named = [("result", outcome), ("bundle_id", app), ("notification_type", parts.first), ("subtype", parts.dropFirst().first)]
        return JSONText(JSONSerializer.text(JSONObject(named.compactMap { name, text in text.map { (name, .string($0)) } })))
    }

    /// Whether an event that `tail_events` returns is one of the user's.
    func admits(_ event: SettledEvent) -> Bool { user == nil || event.user == user }
}
