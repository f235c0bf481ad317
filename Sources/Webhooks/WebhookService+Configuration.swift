extension WebhookService {
    /// How webhooks are delivered.
    package struct Configuration: Sendable {
        /// To which addresses webhooks are sent.
        package var networks: NetworkPolicy = .any
        /// The egress proxy; nil connects directly.
        package var proxy: ProxyAddress?
        /// PEM files with additional trusted certificates.
        package var extraRootPaths: [String] = []
        /// The ports of this program's listeners, to which nothing is sent on this machine.
        package var ownPorts: Set<Int> = []
        /// The value of `User-Agent`.
        package var userAgent = "appstore-inbox/1"
        /// To how many endpoints this process delivers at once.
        package var slots = 32
        /// The duration of a lease, renewed when half of it has passed.
        package var leaseSeconds = 30
        /// The pause between two searches for endpoints without a lease.
        package var leasePause: Duration = .milliseconds(500)
        /// The pause between two polls, each of which asks for all endpoints of this process.
        package var pollPause: Duration = .milliseconds(50)
        /// For how long attempts in flight may go on at a shutdown.
        package var grace: Duration = .seconds(3)
        var connectTimeout: Duration = .seconds(5)
        /// For how long the addresses of a name are used.
        var nameLifetime: Duration = .seconds(5)
        /// For how long a connection waits for another request.
        var idleLifetime: Duration = .seconds(4)
        var lookUp: NameResolver.LookUp = NameResolver.system

        package init() {}
    }
}
