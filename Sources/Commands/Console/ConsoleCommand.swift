import ArgumentParser
import Console
import FoundationEssentials
import HTTPServing
import Logging
import NIOPosix
import Postgres
import Schema
import ServiceLifecycle
import ServiceSupport

/// `appstore-inbox console`: pages for operators, and how people log in to them.
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Serves pages for operators, and lets people log in to them.",
        discussion: """
            Without APPSTORE_INBOX_CONSOLE_LISTEN there is no console. Exit codes: 0 ended, or the link is printed, 1 the database refused or \
            could not be reached, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [ConsoleServe.self, ConsoleLogin.self],
        defaultSubcommand: ConsoleServe.self
    )
}

/// `appstore-inbox console`: the daemon.
struct ConsoleServe: DaemonCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves the console.",
        discussion: """
            Needs role appstore_console. People log in with `appstore-inbox console login`. Ends with 0 after SIGTERM, when the requests in \
            flight are answered.
            """
    )

    static let daemonName = "console"

    @OptionGroup var console: ConsoleOptions
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var service: ServiceOptions

    static let connections = 4

    /// The listeners that have to be bound before the process is ready.
    private enum Listener: Hashable {
        case console, admin
    }

    func run() async throws {
        let read: ReloadService.Read = { [service, console, database, daemon] () throws(SettingsError) in
            try service.reader(console, database, daemon)
        }
        let reader = try read()
        if daemon.checkConfig { return print(try reader.check(.console)) }
        let settings = try ConsoleSettings(reader)
        let level = Reloadable(try LogSettings(reader).level)
        let logger = try Logger.service("console", reader, level: level)
        let options = try ConnectionOptions(settings.database, command: "console", role: "appstore_console")
        logger.starting(
            "console",
            options,
            ["console.read-only": "\(settings.isReadOnly)", "console.origin": "\(settings.origin ?? "http on this machine")"]
        )
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment, logger: logger)
        let status = DaemonStatus(notifier)
        let registry = MetricRegistry(MetricCatalogue.console)
        MetricCatalogue.exposeProcess(in: registry)
        let names = Reloadable(settings.trustedNames ?? TrustedNames())
        let reload = try await ReloadService(reader, .console, level: level, logger: logger, read: read) { reader in
            names.replace(with: try ConsoleSettings(reader).trustedNames ?? TrustedNames())
            return [Settings.consoleUsersFile.name]
        }

        let gate = SchemaGate(.console, logger: logger) { status.changed("console", $0) }
        let pool = ConnectionPool(
            options: options,
            configuration: ConnectionPool.Configuration(maxConnections: Self.connections, acquireTimeout: .seconds(3)).checked(by: gate),
            logger: logger
        )
        registry.observe(pool, as: "console")
        let refusalLog = RefusalLog(logger: logger)
        let ready = Readiness<Listener>(settings.adminListen == nil ? [.console] : [.console, .admin]) { ports in
            let address = settings.listen.with(port: ports[.console] ?? nil)
            var metadata: Logger.Metadata = ["listen.console": "\(address)"]
            if let admin = settings.adminListen { metadata["listen.admin"] = "\(admin.with(port: ports[.admin] ?? nil))" }
            logger.notice("the console is listening", metadata: metadata)
            status.ready("listening on \(address)")
        }
        let server = try ConsoleServer(
            configuration: ConsoleServer.Configuration(settings) { names.current },
            pool: pool,
            health: { await DoctorCheck.health(through: pool, reader) },
            bodyCheck: Explanation.bodyCheck(reader, logger),
            logger: logger,
            metrics: registry,
            refusalLog: refusalLog
        ) { await ready.bound(.console, to: $0) }
        let admin = Self.admin(settings, registry, gate, logger) { await ready.bound(.admin, to: $0) }
        let heartbeat = Heartbeat(
            every: notifier.keepAlivePause,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            isStuck: { false },
            beat: notifier.keepAlive
        )
        // In order of dependency: services shut down in reverse.
        try await ServiceGroup.running(
            [reload, pool, DatabaseWatch(pool: pool, gate: gate, logger: logger), refusalLog, heartbeat] + admin
                + [server, StoppingNotice(notifier: notifier)],
            listeners: settings.listeners,
            shutdownTimeout: settings.shutdownTimeout,
            logger: logger
        )
        logger.notice("console has ended")
    }

    private static func admin(
        _ settings: ConsoleSettings,
        _ registry: MetricRegistry,
        _ gate: SchemaGate,
        _ logger: Logger,
        onBound: @escaping @Sendable (Int?) async -> Void
    ) -> [any Service] {
        guard let listen = settings.adminListen else { return [] }
        let server = AdminServer(
            listen: listen,
            registry: registry,
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger,
            checkReadiness: { () throws(Problem) in
                if let refusal = gate.refusal { throw .databaseRefused("\(refusal)") }
                guard gate.isUsable else { throw .databaseUnavailable(retryAfter: 5) }
            },
            onBound: onBound
        )
        return [server]
    }
}

extension ConsoleServer.Configuration {
    init(_ settings: ConsoleSettings, names: @escaping @Sendable () -> TrustedNames) {
        self.init(listen: settings.listen)
        (origin, isReadOnly) = (settings.origin, settings.isReadOnly)
        proxy = settings.trustedHeader.map { ConsoleServer.Proxy(field: $0, names: names) }
    }
}

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
