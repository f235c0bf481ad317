import Glibc

/// The instant at which a test stops waiting.
package struct Deadline: Sendable {
    private let instant: ContinuousClock.Instant

    package init(within duration: Duration) {
        instant = .now + duration
    }

    package var hasPassed: Bool { ContinuousClock.now >= instant }

    /// Waits until a descriptor is readable, its peer is gone, or the deadline has passed; returns the readable ones.
    package func awaitReadable(_ descriptors: [Int32]) -> Set<Int32> {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = poll(&entries, nfds_t(entries.count), milliseconds)
            if count > 0 { return Set(entries.filter { $0.revents != 0 }.map(\.fd)) }
            if count == 0 || errno != EINTR { return [] }
        }
    }

    private var milliseconds: Int32 {
        let left = ContinuousClock.now.duration(to: instant).components
        guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
        return Int32(clamping: left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1)
    }
}
