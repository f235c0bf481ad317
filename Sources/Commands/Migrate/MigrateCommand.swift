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
            Exit codes: 0 the schema is current (--list, --dry-run: shown), 1 the migration failed or --check found a difference, 2 wrong \
            usage, 78 wrong settings.
            """
    )

    @Flag(help: "Change nothing; print how the schema differs from what this program makes.") var check = false
    @Flag(help: "Change nothing; print the versions that the database has and those that it lacks.") var list = false
    @Flag(help: "Change nothing; print what would be done.") var dryRun = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if [check, list, dryRun].count(where: { $0 }) > 1 { throw ValidationError("name only one of --check, --list and --dry-run") }
    }

    func run() async throws {
        let reader = try service.reader(database)
        try reader.requireValid(Settings.database + Settings.log)
        let logger = try Logger.service("migrate", reader)
        var options = try ConnectionOptions(DatabaseSettings(reader), command: "migrate", role: nil)
        // A concurrent run and the creation of an index may both take long.
        options.statementDeadline = .seconds(3600)
        let connection = try await Connection.open(options, logger: logger)
        let migrator = SchemaMigrator(connection: connection, logger: logger)
        if check {
            try await report(migrator.differences())
        } else if list {
            for line in try await migrator.versions() { print(line) }
        } else {
            print(dryRun ? "\(try await migrator.plan())" : "\(try await migrator.migrate())")
        }
        await connection.close()
    }

    private func report(_ differences: [String]) throws {
        guard !differences.isEmpty else { return print("The schema is what this program makes.") }
        for line in differences { print(line) }
        throw ExitCode.failure
    }
}
