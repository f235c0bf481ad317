package import HTTPServing

extension IngestServer {
    /// The addresses and limits of an ingest server.
    package struct Configuration: Sendable {
        /// The address for Apple's notifications.
        package var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8080)
        /// The address for health and metrics, which answers even when the first listener is full.
        package var adminListen = ListenAddress.tcp(host: "127.0.0.1", port: 9090)
        /// The limits of the first listener. The second has the same, but at most 64 connections.
        package var limits = ListenerLimits()
        /// The most bytes in a notification V1: its receipt grows with each renewal.
        package var legacyBodyBytes = 4 * 1024 * 1024
        /// The most bytes stored within any hour. They are not verified yet.
        package var maximumBytesPerHour = 4 * 1024 * 1024 * 1024
        /// The interval between two heartbeats.
        package var heartbeatInterval: Duration = .seconds(5)

        package init() {}

        /// Checks the limits and their combination.
        ///
        /// - Throws: `ServerError` that names the first invalid limit.
        package func validate() throws(ServerError) {
            try limits.validate()
            try ListenerLimits.check("legacyBodyBytes", legacyBodyBytes, in: ListenerLimits.bodyBytes)
            try notificationLimits.validate()
            let largest = max(limits.maximumBodyBytes, legacyBodyBytes)
            try ListenerLimits.check("maximumBytesPerHour", maximumBytesPerHour, in: largest...Int.max)
            try ListenerLimits.check("heartbeatInterval", heartbeatInterval)
        }

        /// The limits of the first listener, by path. Notifications V2 may arrive under the path of V1.
        var notificationLimits: ListenerLimits {
            var limits = limits
            limits.bodyBytesByPath[LegacyNotificationEndpoint.path] = max(limits.maximumBodyBytes, legacyBodyBytes)
            return limits
        }
    }
}
