import AppStore
import ArgumentParser
import InboxQueue
import Postgres
import StrictJSON

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
