extension ConnectionPool {
    /// What has happened to the connections of a pool since it was made.
    package struct Counts: Hashable, Sendable {
        /// Connections that were opened.
        package var opened: Int
        /// Attempts to open one that did not succeed.
        package var failed: Int
        /// Connections that broke, timed out or died while they were idle: each is replaced when it is needed.
        package var lost: Int

        package init(opened: Int = 0, failed: Int = 0, lost: Int = 0) {
            self.opened = opened
            self.failed = failed
            self.lost = lost
        }
    }

    /// What the slots of a pool hold at one moment.
    package struct Slots: Hashable, Sendable {
        package var idle: Int
        package var lent: Int
        package var opening: Int
        /// Of no use to anybody: the server has still to answer their COMMIT.
        package var unanswered: Int

        package init(idle: Int = 0, lent: Int = 0, opening: Int = 0, unanswered: Int = 0) {
            self.idle = idle
            self.lent = lent
            self.opening = opening
            self.unanswered = unanswered
        }
    }
}
