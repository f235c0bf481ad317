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
            --publication then makes the publication appstore_feed, for logical replication of the feed: inserts only, under the name of the \
            partitioned table. It leaves out user_id and from_user_id, since appstore.forget cannot erase a name from another system. \
            --publication-users publishes them, too. Exit codes: 0 the schema is current (--list, --dry-run: shown), 1 the migration failed or --check found a difference, 2 wrong \
            usage, 78 wrong settings.
            """
    )

    @Flag(help: "Change nothing; print how the schema differs from what this program makes.") var check = false
    @Flag(help: "Change nothing; print the versions that the database has and those that it lacks.") var list = false
    @Flag(help: "Change nothing; print what would be done.") var dryRun = false
    @Flag(help: "Then make the publication appstore_feed, or bring it up to date.") var publication = false
    @Flag(help: "As --publication, with the names of users.") var publicationUsers = false
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var service: ServiceOptions

    func validate() throws {
        let exclusive = [check, list, dryRun, publication || publicationUsers]
        if exclusive.count(where: { $0 }) > 1 { throw ValidationError("name only one of --check, --list, --dry-run and --publication") }
    }

    func run() async throws {
        let reader = try service.reader(database)
        try reader.requireValid(Settings.database + Settings.log)
        let logger = try Logger.service("migrate", reader)
        var options = try ConnectionOptions(DatabaseSettings(reader), command: "migrate", role: nil)
        // A concurrent run and the creation of an index may both take long.
        options.statementDeadline = .seconds(3600)
        // roles.sql says what only a superuser can grant.
        options.logsNotices = true
        let connection = try await Connection.open(options, logger: logger)
        let migrator = SchemaMigrator(connection: connection, logger: logger)
        if check {
            try await report(migrator.differences())
        } else if list {
            for line in try await migrator.versions() { print(line) }
        } else {
            if dryRun {
                print(try await migrator.plan())
            } else {
                let changes = try await migrator.migrate()
                print(changes)
                if changes.created != nil { try await printRetention(connection) }
            }
        }
        if publication || publicationUsers { try await publish(migrator) }
        await connection.close()
    }

    /// What a new installation deletes by itself.
    private func printRetention(_ connection: Connection) async throws {
        try await connection.runScript("SET ROLE appstore_owner")
        let rows = try await connection.query("SELECT extract(days FROM bodies)::integer AS days FROM appstore.retention")
        try await connection.runScript("RESET ROLE")
        let days = try rows[0].decode("days", as: Int32.self)
        print("Raw bodies are kept for \(days) days after their outcome, outcomes for ever: appstore.retention changes that.")
    }

    private func publish(_ migrator: SchemaMigrator) async throws {
        let walLevel = try await migrator.publishFeed(withUsers: publicationUsers)
        print("The publication appstore_feed has the feed, \(publicationUsers ? "with" : "without") the names of users.")
        guard walLevel != "logical" else { return }
        print("wal_level is \(walLevel): set it to logical and restart PostgreSQL before a subscriber connects.")
    }

    private func report(_ differences: [String]) throws {
        guard !differences.isEmpty else { return print("The schema is what this program makes.") }
        for line in differences { print(line) }
        throw ExitCode.failure
    }
}
