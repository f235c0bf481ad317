import ArgumentParser
import Feed
import Postgres
import StrictJSON

/// `appstore-inbox redeliver`: delivers entries to an endpoint again.
struct RedeliverCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redeliver",
        abstract: "Delivers entries of the feed to an endpoint again, with the ids that they had.",
        discussion: """
            Needs a role with this privilege, such as appstore_operator. Name a range, by position or by the time at which entries were told, \
            or --only-failed. Workers send them, beside what is new, which goes first: the command only asks for it. --only-failed makes \
            deliveries due again that failed or were given up.

            With --json each line is one object: {"state": "asked", "entries", "redelivery"}, then with --wait {"state": "open" | "done" | \
            "stopped" | "aged", "redelivery", "position", "upto", "sent"}. {"state": "counted", "entries"} of a dry run.

            Exit codes: 0 asked for (with --wait: done; a dry run: counted), 1 refused, or stopped by SELECT appstore.stop_redelivery(…) or since entries had aged, \
            2 wrong usage, 78 wrong settings.
            """
    )

    @Argument(help: "The endpoint's name.") var name: String
    @Option(help: ArgumentHelp("The first position.", valueName: "position")) var fromPosition: Int64?
    @Option(help: ArgumentHelp("The last position.", valueName: "position")) var uptoPosition: Int64?
    @Option(help: ArgumentHelp("Told at this instant or later, such as 2026-01-31T12:00:00Z.", valueName: "INSTANT")) var from: String?
    @Option(help: ArgumentHelp("Told before this instant.", valueName: "INSTANT")) var before: String?
    @Option(
        name: .customLong("type"),
        help: "Only entries of this type, or a pattern such as effect.*; may be given several times.",
        completion: .list(FeedType.words)
    )
    var types: [String] = []
    @Flag(help: "Only deliveries that failed or were given up.") var onlyFailed = false
    @Flag(help: "Only count the entries.") var dryRun = false
    @Flag(help: "Wait until all are sent. Ctrl-C ends only the waiting.") var wait = false
    @Option(help: "Why, for the audit log.") var note: String?
    @OptionGroup var options: EndpointOptions

    func validate() throws {
        if fromPosition == nil, uptoPosition == nil, from == nil, before == nil, !onlyFailed {
            throw ValidationError("name a range, such as --from 2026-01-31T12:00:00Z or --from-position 4711, or --only-failed")
        }
        for (option, text) in [("from", from), ("before", before)] {
            guard let text, PostgresTimestamp(instant: text) == nil else { continue }
            throw ValidationError("--\(option) must be an instant such as 2026-01-31T12:00:00Z, not \(text.quotedUnlessSecret)")
        }
        if let fromPosition, let uptoPosition, fromPosition > uptoPosition {
            throw ValidationError("--from-position \(fromPosition) is after --upto-position \(uptoPosition)")
        }
        for type in types { try KnownWords.feedTypes.check(type) }
        if wait && onlyFailed { throw ValidationError("--wait needs a range: failed deliveries are due at once, see endpoint show") }
        if wait && dryRun { throw ValidationError("--wait and --dry-run exclude each other") }
    }

    func run() async throws {
        let isDone = try await options.withRegister { register in
            _ = try await register.endpoint(name)
            let (entries, redelivery) = try await register.redeliver(name, range, note: note, isDry: dryRun)
            show(entries, redelivery)
            guard wait, let redelivery else { return true }
            return try await follow(redelivery, register)
        }
        if !isDone { throw ExitCode.failure }
    }

    private var range: EndpointRegister.Range {
        EndpointRegister.Range(
            first: fromPosition,
            last: uptoPosition,
            from: from.flatMap(PostgresTimestamp.init(instant:)),
            before: before.flatMap(PostgresTimestamp.init(instant:)),
            types: types.isEmpty ? nil : types,
            onlyFailed: onlyFailed
        )
    }

    private func show(_ entries: Int64, _ redelivery: Int64?) {
        let what = entries == 1 ? "1 entry" : "\(entries) entries"
        if dryRun { return options.print(["state": "counted", "entries": .integer(entries)], "\(what) would be delivered again.") }
        let number = redelivery.map { ", as redelivery \($0)" } ?? ""
        options.print(
            ["state": "asked", "entries": .integer(entries), "redelivery": .optional(redelivery)],
            "\(what) will be delivered again\(number)."
        )
    }

    /// Prints the progress until all is sent; false when the redelivery ended before that.
    private func follow(_ number: Int64, _ register: EndpointRegister) async throws -> Bool {
        var shown: Redelivery?
        while let redelivery = try await register.redelivery(number) {
            if redelivery != shown { options.print(redelivery.json, redelivery.words) }
            if redelivery.state != "open" { return redelivery.state == "done" }
            shown = redelivery
            try await Task.sleep(for: .seconds(1))
        }
        return false
    }
}
