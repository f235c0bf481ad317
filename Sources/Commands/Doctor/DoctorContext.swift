import Logging
import Postgres

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
