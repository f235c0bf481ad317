import ArgumentParser
import Logging
import Postgres
import Schema

/// `appstore-inbox migrate`: brings the database to this program's schema.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database to this program's schema. Safe to run again, and by several at once.",
        discussion: """
            Run it as a superuser, as a role that may create roles, or as appstore_owner once sql/roles.sql has been run. \
            Exit codes: 0 the schema is current, 1 it could not be made so, 2 wrong usage, 78 wrong settings.
            """
    )

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(database)
        let logger = try Logger.service("migrate", reader)
        var options = try ConnectionOptions(DatabaseSettings(reader), command: "migrate")
        // Another run may be at it, and an index may take its time.
        options.statementDeadline = .seconds(3600)
        let connection = try await Connection.open(options, logger: logger)
        let applied = try await SchemaMigrator(connection: connection, logger: logger).migrate()
        await connection.close()
        print(applied.isEmpty ? "The schema is current." : "Applied \(applied.joined(separator: ", ")).")
    }
}
