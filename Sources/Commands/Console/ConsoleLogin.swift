import ArgumentParser
import Console
import HTTPServing
import Schema

/// `appstore-inbox console login`: makes a link that works once.
struct ConsoleLogin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Prints a link that logs a browser in to the console. It works once, for 60 seconds.",
        discussion: """
            The person and the role are those of the login with which it connects to the database, which must be a member of appstore_viewer \
            or appstore_operator: give each person a login. Where the console listens on a Unix socket or at another port of your own machine, \
            replace the beginning of the link. Exit codes: 0 printed, 1 the database refused or could not be reached, 78 wrong settings.
            """
    )

    @OptionGroup var address: ConsoleAddressOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(address, database)
        try reader.requireValid([Settings.consoleListen.description, Settings.consoleOrigin.description])
        let listen = try reader.required(Settings.consoleListen)
        let port = listen.port.map { ":\($0)" } ?? ""
        let origin = try reader.optional(Settings.consoleOrigin) ?? "http://\(OriginPolicy.host)\(port)"
        var generator = SystemRandomNumberGenerator()
        let token = ConsoleSecret(using: &generator)
        let expected = SchemaExpectation(role: "appstore_viewer", function: "make_console_login")
        let login = try await CommandConnection.with(reader, command: "console login", expected) { try await Login(token, on: $0) }
        LogOutput.standardError.write("for \(login.person) as \(login.role); the link works once, for 60 seconds\n")
        print("\(origin)/login?token=\(token.text)")
    }
}
