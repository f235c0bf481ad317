import ArgumentParser
import FoundationEssentials
import Logging
import Postgres
import StrictJSON

/// `appstore-inbox doctor`: looks for everything that an operator would look for by hand.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: """
            Checks settings, database, listeners, inbox, webhooks, Apple's API and disk, and says what to do. It changes nothing without \
            --test-notification.
            """,
        discussion: """
            Run it on the machine of the daemons, as role appstore_viewer or appstore_operator, with --config \
            /etc/appstore-inbox/appstore-inbox.env. A check that cannot be made is a warning. Exit codes: 0 all is well, 1 at least one \
            warning, 2 at least one failure, or wrong usage.
            """
    )

    @Flag(help: "Print one JSON object.") var json = false
    @Flag(help: "Also let Apple send a test notification of each app and environment whose key is here, and follow it for up to a minute.")
    var testNotification = false
    @Option(help: "Also test the public address of the notifications, such as https://appstore.example.com.") var url: String?
    @OptionGroup var options: DoctorOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func validate() throws {
        guard let url, PublicURL(url) == nil else { return }
        throw ValidationError("--url must be http://HOST or https://HOST, with or without a path")
    }

    func run() async throws {
        let flags = [options.flags, database.flags, service.flags].reduce(into: [:]) { $0.merge($1) { $1 } }
        let environment = ProcessInfo.processInfo.environment
        let context = try await DoctorContext(
            flags: flags,
            configPath: service.config,
            url: url,
            testsNotification: testNotification,
            environment: environment
        )
        let report = await DoctorCheck.report(context)
        if case .success(let connection) = context.connection { await connection.close() }
        let inColour = StandardOutput.showsColours(environment)
        print(json ? JSONSerializer.text(report.json) : report.text(inColour: inColour))
        throw ExitCode(report.worst.exitCode)
    }
}

/// The settings of the daemons that `doctor` takes as options: those that a socket of systemd replaces, and those that decide what counts.
struct DoctorOptions: SettingsOptions {
    @Option(help: Settings.listen.description.help) private var listen: String?
    @Option(help: Settings.adminListen.description.help) private var adminListen: String?
    @Option(help: Settings.apiListen.description.help) private var apiListen: String?
    @Option(help: Settings.workerAdminListen.description.help) private var workerAdminListen: String?
    @OptionGroup private var verification: VerificationOptions
    @OptionGroup private var webhookSecret: WebhookSecretOptions
    @OptionGroup private var serverAPI: ServerAPIOptions

    init() {}

    var flags: [String: String] {
        Self.collect([
            "listen": listen, "admin-listen": adminListen, "api-listen": apiListen, "worker-admin-listen": workerAdminListen,
        ]).merging(verification.flags) { $1 }.merging(webhookSecret.flags) { $1 }.merging(serverAPI.flags) { $1 }
    }
}

/// What the checks work with.
struct DoctorContext: Sendable {
    /// There is no connection, which the check of the server reports with its reason.
    struct NotConnected: Error, CustomStringConvertible {
        var description: String { "there is no connection to the database" }
        var remedy: String { "see the finding about the server" }
    }

    /// Where the database-url is found.
    let reader: SettingsReader
    /// The same, where texts stand in for the connection strings that only the daemons' units know.
    let daemons: SettingsReader
    /// What is wrong with the configuration file. The readers do without it then.
    let fileProblems: [String]
    /// The address of the public endpoint for notifications; nil when none was named.
    let url: String?
    /// Whether Apple is asked to send a test notification.
    let testsNotification: Bool
    let connection: Result<Connection, any Error>
    /// What the checks use instead of a connection; nil for the command.
    var transaction: Transaction?
    /// The findings say everything.
    let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }

    /// Reads the settings and connects.
    init(flags: [String: String], configPath: String?, url: String?, testsNotification: Bool, environment: [String: String])
        async throws(SettingsError)
    {
        var environment = environment
        var (path, problems) = (configPath, [String]())
        do throws(SettingsError) {
            _ = try SettingsReader(flags: flags, configPath: path, environment: environment)
        } catch {
            problems = error.problems
            path = nil
            environment["APPSTORE_INBOX_CONFIG"] = nil
        }
        let reader = try SettingsReader(flags: flags, configPath: path, environment: environment)
        var known = flags
        for setting in [Settings.databaseURL, Settings.apiDatabaseURL] where !reader.isGiven(setting) {
            known[setting.name] = "host=/unknown"
        }
        daemons = try SettingsReader(flags: known, configPath: path, environment: environment)
        (self.reader, self.url, self.testsNotification, fileProblems) = (reader, url, testsNotification, problems)
        connection = await Self.connect(reader, logger)
    }

    /// For the checks that only ask the database, each in a transaction.
    init(_ transaction: Transaction, _ reader: SettingsReader) {
        (self.reader, daemons, self.transaction) = (reader, reader, transaction)
        (fileProblems, url, testsNotification, connection) = ([], nil, false, .failure(NotConnected()))
    }

    /// Sends a statement of a check.
    ///
    /// - Throws: ``NotConnected``, or the error of the statement.
    func query(_ statement: Statement) async throws -> Rows {
        if let transaction { return try await transaction.query(statement) }
        return try await connected().query(statement)
    }

    /// - Throws: ``NotConnected``.
    func connected() throws -> Connection {
        guard case .success(let connection) = connection else { throw NotConnected() }
        return connection
    }

    private static func connect(_ reader: SettingsReader, _ logger: Logger) async -> Result<Connection, any Error> {
        do {
            let options = try ConnectionOptions(DatabaseSettings(reader), command: "doctor", role: "appstore_viewer")
            return .success(try await Connection.open(options, logger: logger))
        } catch {
            return .failure(error)
        }
    }
}
