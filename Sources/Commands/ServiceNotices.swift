import Logging
import ServiceLifecycle
import Systemd
import UnixSignals

/// Tells systemd that the process is about to end. The last of the services, since the last is the first to shut down.
struct StoppingNotice: Service {
    let notifier: ServiceNotifier

    func run() async throws {
        try await gracefulShutdown()
        notifier.stopping(status: "finishing what is under way")
    }
}

/// Says that the process is ready, where no listener has to be bound first: as a service, since signals are not heeded before services run, and
/// whoever hears that the process is ready may end it at once.
struct ReadyNotice: Service {
    let announce: @Sendable () -> Void

    func run() async throws {
        announce()
        try await gracefulShutdown()
    }
}

extension ServiceGroup {
    /// Runs a daemon's services until SIGTERM or SIGINT; what is under way may take `shutdownTimeout` from then on.
    static func running(_ services: [any Service], shutdownTimeout: Duration, logger: Logger) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = shutdownTimeout
        try await ServiceGroup(configuration: configuration).run()
    }
}
