import ArgumentParser
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
