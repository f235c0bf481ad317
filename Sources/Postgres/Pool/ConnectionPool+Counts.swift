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
}
