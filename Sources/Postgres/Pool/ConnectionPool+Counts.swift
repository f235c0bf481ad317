extension ConnectionPool {
    /// Totals of a pool's connections since it was created.
    package struct Counts: Hashable, Sendable {
        /// Connections that were opened.
        package var opened: Int
        /// Failed attempts to open a connection.
        package var failed: Int
        /// Connections that broke, timed out or died while idle; each is replaced on demand.
        package var lost: Int

        package init(opened: Int = 0, failed: Int = 0, lost: Int = 0) {
            self.opened = opened
            self.failed = failed
            self.lost = lost
        }
    }

    /// The states of a pool's slots at one moment.
    package struct Slots: Hashable, Sendable {
        package var idle: Int
        package var leased: Int
        package var opening: Int
        /// Unusable connections whose COMMIT the server has not yet answered.
        package var unanswered: Int

        package init(idle: Int = 0, leased: Int = 0, opening: Int = 0, unanswered: Int = 0) {
            self.idle = idle
            self.leased = leased
            self.opening = opening
            self.unanswered = unanswered
        }
    }
}
