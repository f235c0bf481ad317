import ArgumentParser
import Logging
import Postgres
import Schema

/// `appstore-inbox migrate`: brings the database to this program's schema.
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database to this program's schema. Safe to run repeatedly and concurrently.",
        discussion: """
            Run it as a superuser, as a role that may create roles, or as a member of appstore_owner once sql/roles.sql has been run. \
            Exit codes: 0 the schema is current, 1 the migration failed or --check found a difference, 2 wrong usage, 78 wrong settings.
            """
    )

    @Flag(help: "Change nothing; print how the schema differs from what this program makes.")
    var check = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func run() async throws {
        let reader = try service.reader(database)
        let logger = try Logger.service("migrate", reader)
        var options = try ConnectionOptions(DatabaseSettings(reader), command: "migrate", role: nil)
        // A concurrent run and the creation of an index may both take long.
        options.statementDeadline = .seconds(3600)
        let connection = try await Connection.open(options, logger: logger)
        let migrator = SchemaMigrator(connection: connection, logger: logger)
        if check {
            try await report(migrator.differences())
        } else {
            print(try await migrator.migrate())
        }
        await connection.close()
    }

    private func report(_ differences: [String]) throws {
        guard !differences.isEmpty else { return print("The schema is what this program makes.") }
        for line in differences { print(line) }
        throw ExitCode.failure
    }
}
