import AppStore
import ArgumentParser
import Logging
import Postgres
import StrictJSON
import Worker

/// `appstore-inbox explain`: what is known of one event, from its bytes to the books.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains one event: payloads, verification step by step, meaning, facts, effects, books, runs.",
        discussion: """
            Reads with the worker's settings and as appstore_worker, the one role that may read bodies, and changes nothing. What it prints \
            is a customer's data. Verification, facts and `ifRunNow` are what this program makes of the body with the settings of now.

            The object that --json prints has the members event, source, receivedAt, bytes (null: the body has been dropped), state \
            (ready, waiting, settled), result and reason (of the latest run), runs, queue, audit (rows of the database, members named as the \
            columns), submission (what a client posted with its transaction or receipt), payloads, verification (the checks of each JWS in \
            their order: ok, failed, not_reached; of a receipt one), ifRunNow, meaning, facts (each with its version and its standing: held, \
            superseded, not_merged), effects (each with the event that brought it first), and books (rows). Members that have nothing to say are null or empty.

            Exit codes: 0 explained, 1 there is no such event or the database could not be asked, 2 wrong usage, 78 wrong settings.
            """
    )

    @Argument(help: "The event's id, as in appstore.inbox_status.") var event: Int64
    @Flag(help: "Print one JSON object.") var json = false
    @OptionGroup(title: "The worker's settings") var worker: WorkerOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(worker, database)
        if service.checkConfig { return print(try reader.report(.worker)) }
        let settings = try WorkerSettings(reader)
        let processor = EventProcessor(try settings.eventReader())
        let connection = try await Connection.open(
            try ConnectionOptions(settings.database, command: "explain", role: "appstore_worker"),
            logger: try Logger.service("explain", reader)
        )
        let explanation = try await Explanation.read(event, from: connection, processor: processor)
        await connection.close()
        guard let explanation else {
            LogOutput.standardError.write("there is no event \(event)\n")
            throw ExitCode.failure
        }
        print(json ? String(decoding: JSONSerializer.serialize(explanation.json), as: UTF8.self).shownSafely : explanation.text)
    }
}
