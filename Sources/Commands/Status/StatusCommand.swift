import ArgumentParser
import InboxQueue
import Postgres
import Revocation
import SQL
import Schema
import StrictJSON

/// `appstore-inbox status`: shows waiting events, and settled events by result.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the events that wait in the inbox, and the settled events by result.",
        discussion: """
            Needs a role that may read, such as appstore_viewer. With --max-silence a monitor notices that notifications have stopped. Exit \
            codes: 0 shown, 1 the database could not be reached or the silence is too long, 78 wrong settings.
            """
    )

    @Flag(help: "Print one JSON object.") var json = false
    @Option(help: "Fail when no genuine notification has arrived for this many seconds.") var maxSilence: Int64?
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(database)
        let status = try await CommandConnection.with(reader, command: "status", .viewer) { try await InboxStatus.read(from: $0) }
        print(json ? JSONSerializer.text(status.json) : status.text)
        if let maxSilence, status.silence.map({ $0 > maxSilence }) ?? true {
            LogOutput.standardError.write("No genuine notification has arrived for more than \(maxSilence) seconds.\n")
            throw ExitCode.failure
        }
    }
}

/// The statistics of the inbox that metrics expose, and the settled events by result.
private struct InboxStatus {
    let statistics: InboxStatistics
    /// The exact number of settled events by result.
    let results: [(result: String, events: Int64)]
    let revocation: RevocationStatistics

    static func read(from connection: Connection) async throws -> InboxStatus {
        let answers = try await connection.pipeline([
            InboxStatistics.statement, Statement.statusResults(), RevocationStatistics.statement,
        ])
        return InboxStatus(
            statistics: try InboxStatistics(answers[0][answers[0].startIndex]),
            results: try answers[1].map { (try $0.decode("result"), try $0.decode("events")) },
            revocation: try RevocationStatistics(answers[2][answers[2].startIndex])
        )
    }

    /// Seconds since the last genuine notification arrived; nil when there is none.
    var silence: Int64? { statistics.silence?.components.seconds }

    /// `{"ready": …, "waiting": …, "unsettled": …, …, "outcomes": {"applied": …}}`; ages in whole seconds.
    var json: JSONObject {
        [
            "ready": .count(statistics.ready), "waiting": .count(statistics.waiting), "unsettled": .count(statistics.unsettled),
            "countedTo": .count(InboxStatistics.countedTo), "isolated": .count(statistics.isolated), "failed": .count(statistics.failed),
            "overdueSeconds": .seconds(statistics.overdue), "oldestUnsettledSeconds": .seconds(statistics.oldestUnsettled),
            "lastNotificationSeconds": .seconds(statistics.silence), "lostBatches": .count(statistics.lostBatches),
            "partitions": .count(statistics.partitions), "oldestSnapshotSeconds": .seconds(statistics.snapshotAge),
            "oldestSnapshotTransactions": .count(statistics.snapshotTransactions),
            "revokedCertificates": .count(revocation.revoked), "revocationAgeSeconds": .seconds(revocation.age),
            "outcomes": .object(JSONObject(results.map { ($0.result, .count($0.events)) })),
        ]
    }

    var text: String {
        var lines = [line("ready", Self.count(statistics.ready)), line("waiting", Self.count(statistics.waiting))]
        if let overdue = statistics.overdue { lines.append(line("overdue", "\(overdue.components.seconds) s, the first ready event")) }
        if let oldest = statistics.oldestUnsettled { lines.append(line("oldest", "\(oldest.components.seconds) s without outcome")) }
        lines.append(line("silence", silence.map { "\($0) s since the last notification" } ?? "no notification has come yet"))
        if statistics.isolated > 0 { lines.append(line("isolated", "\(statistics.isolated) that run one to a batch")) }
        if let age = statistics.snapshotAge, age >= .seconds(60) {
            lines.append(line("snapshot", "\(age.components.seconds) s old: dead rows cannot be removed"))
        }
        if !revocation.isEmpty { lines.append(line("ocsp", revocation.summary)) }
        lines += results.map { line($0.result, "\($0.events)") }
        return lines.joined(separator: "\n")
    }

    private func line(_ name: String, _ text: String) -> String { "\(name.padded(to: 11)) \(text)" }

    private static func count(_ events: Int64) -> String {
        events < InboxStatistics.countedTo ? "\(events)" : "\(events) or more"
    }
}

extension JSONValue {
    fileprivate static func count(_ count: Int64) -> JSONValue { .number(JSONNumber(count)) }
    fileprivate static func seconds(_ duration: Duration?) -> JSONValue { .optional(duration?.components.seconds) }
}
