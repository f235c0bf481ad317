package import HTTPServing

extension IngestServer {
    /// Where an ingest server listens, and its limits.
    package struct Configuration: Sendable {
        /// Where Apple's notifications arrive.
        package var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8080)
        /// Where the health of the process can be asked for, even when the first listener is full.
        package var adminListen = ListenAddress.tcp(host: "127.0.0.1", port: 9090)
        /// Of the first listener; the second has the same, but for 64 connections.
        package var limits = ListenerLimits()
        /// The most bytes in a notification V1, whose receipts grow with the years.
        package var legacyBodyBytes = 4 * 1024 * 1024
        /// The most bytes that are stored, and so not yet verified, within any hour.
        package var maximumBytesPerHour = 4 * 1024 * 1024 * 1024
        /// How often the heartbeat is given while all is well.
        package var heartbeatInterval: Duration = .seconds(5)

        package init() {}

        /// Checks that the limits make sense together.
        ///
        /// - Throws: `ServerError` that names the first limit that does not.
        package func validate() throws(ServerError) {
            try limits.validate()
            try ListenerLimits.check("legacyBodyBytes", legacyBodyBytes, in: ListenerLimits.bodyBytes)
            try notificationLimits.validate()
            let largest = max(limits.maximumBodyBytes, legacyBodyBytes)
            try ListenerLimits.check("maximumBytesPerHour", maximumBytesPerHour, in: largest...Int.max)
            try ListenerLimits.check("heartbeatInterval", heartbeatInterval)
            guard listen != adminListen || listen.isAnyPort else {
                throw .invalidLimit("adminListen", "\(adminListen) is the first listener's address too")
            }
        }

        /// Of the first listener, by its paths; notifications V2 come to the address of V1, too.
        var notificationLimits: ListenerLimits {
            var limits = limits
            limits.bodyBytesByPath[LegacyNotificationEndpoint.path] = max(limits.maximumBodyBytes, legacyBodyBytes)
            return limits
        }
    }
}
