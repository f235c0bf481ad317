import ArgumentParser
import FoundationEssentials
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
