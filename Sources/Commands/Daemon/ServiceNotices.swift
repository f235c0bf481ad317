import HTTPServing
import Logging
import ServiceLifecycle
import Systemd
import UnixSignals

/// Tells systemd that the process is about to end. It must be the last service, since services shut down in reverse order.
struct StoppingNotice: Service {
    let notifier: ServiceNotifier

    func run() async throws {
        try await gracefulShutdown()
        notifier.stopping(status: "finishing work in flight")
    }
}

/// Announces that the process is ready, where no listener has to be bound first.
///
/// This is a service since signals are handled only once services run, and a supervisor may send SIGTERM as soon as the process is ready.
struct ReadyNotice: Service {
    let announce: @Sendable () -> Void

    func run() async throws {
        announce()
        try await gracefulShutdown()
    }
}

extension ServiceGroup {
    /// Runs a daemon's services until SIGTERM or SIGINT; work in flight may take `shutdownTimeout` from then on.
    ///
    /// - Parameter bind: binds listeners before any service runs.
    /// - Throws: ``SettingsError`` when an address of `listeners` cannot be bound.
    static func running(
        _ services: [any Service],
        after bind: () async throws -> Void = {},
        listeners: [ListenerSetting],
        shutdownTimeout: Duration,
        logger: Logger
    ) async throws {
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger.forServiceGroup
        )
        configuration.maximumGracefulShutdownDuration = shutdownTimeout
        do {
            try await bind()
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as ServerError where error.code == .cannotListen {
            guard let setting = listeners.first(where: { $0.address == error.address }) else { throw error }
            throw SettingsError(["\(setting.name): \(error)"])
        }
    }
}
