import Glibc

/// The event loop of a load generator: polls its connections and sends due requests.
struct HTTPLoadLoop {
    private var connections: [HTTPLoadConnection] = []
    private let port: Int
    private let requests: [[UInt8]]
    private let pace: HTTPLoad.Pace
    private var outcome = HTTPLoad.Outcome()
    /// Connections without a request, longest idle first. All are used in turn, because a server closes idle connections.
    private var idle: [Int]
    /// When the last answer arrived, or when the first request in flight was sent.
    private var silentSince = 0.0
    private let timeout: Double
    private var begun = 0
    private var start = 0.0
    private var buffer = [UInt8](repeating: 0, count: 16_384)
    private var polls: [pollfd]

    /// - Parameter timeout: see ``HTTPLoad/timeout``.
    init(port: Int, connections count: Int, requests: [[UInt8]], pace: HTTPLoad.Pace, timeout: Double) throws(BenchmarkError) {
        self.port = port
        self.requests = requests
        self.pace = pace
        self.timeout = timeout
        for _ in 0..<count {
            do {
                connections.append(try HTTPLoadConnection(port: port))
            } catch {
                for connection in connections { connection.close() }
                throw error
            }
        }
        idle = Array(connections.indices)
        polls = connections.map { pollfd(fd: $0.socket, events: 0, revents: 0) }
    }

    /// Runs until all requests are answered, and closes the connections.
    mutating func run() throws(BenchmarkError) -> HTTPLoad.Outcome {
        defer { for connection in connections { connection.close() } }
        let before = ProcessClock.now()
        start = SteadyClock.now()
        do {
            try load()
        } catch {
            throw BenchmarkError(error.code, "\(error.message), after \(outcome.latencies.count) answers")
        }
        outcome.seconds = SteadyClock.now() - start
        outcome.processorTime = ProcessClock.now() - before
        return outcome
    }

    private mutating func load() throws(BenchmarkError) {
        while true {
            let now = SteadyClock.now()
            while let index = idle.first, let due = nextDue(now) {
                if idle.count == connections.count { silentSince = now }
                idle.removeFirst()
                try connections[index].begin(requests[begun % requests.count], due: due)
                outcome.dueTimes.append(due)
                begun += 1
            }
            if idle.count == connections.count {
                if isOver(now) { return }
            } else if now - silentSince > timeout {
                throw BenchmarkError(.wrongResult, "the server has answered nothing for \(timeout.figureText) s")
            }
            try wait(now)
            try serve()
        }
    }

    /// When the next request was due; nil when none is due yet or none is left.
    private func nextDue(_ now: Double) -> Double? {
        switch pace {
        case .asFastAsAnswered(let seconds): return now - start < seconds ? now : nil
        case .steady(let rate, let count):
            let due = start + Double(begun) / rate
            return begun < count && due <= now ? due : nil
        }
    }

    private func isOver(_ now: Double) -> Bool {
        switch pace {
        case .asFastAsAnswered(let seconds): now - start >= seconds
        case .steady(_, let count): begun >= count
        }
    }

    /// Waits until a connection is ready or the next request is due.
    private mutating func wait(_ now: Double) throws(BenchmarkError) {
        for index in polls.indices {
            polls[index].events = connections[index].events
            polls[index].revents = 0
        }
        var milliseconds: Int32 = 1000
        if case .steady(let rate, let count) = pace, begun < count, !idle.isEmpty {
            let microseconds = max(0, (start + Double(begun) / rate - now) * 1e6)
            milliseconds = Int32(min(microseconds / 1000, 1000))
            // poll(2) counts whole milliseconds. The rest is slept in short pieces, so that answers are read in between.
            if milliseconds == 0 { usleep(UInt32(min(microseconds, 100))) }
        }
        guard poll(&polls, nfds_t(polls.count), milliseconds) >= 0 || errno == EINTR else {
            throw BenchmarkError(.system, "poll: \(String(cString: strerror(errno)))")
        }
    }

    private mutating func serve() throws(BenchmarkError) {
        for index in polls.indices where polls[index].revents != 0 {
            if polls[index].revents & Int16(POLLOUT) != 0 { try connections[index].send() }
            guard polls[index].revents & ~Int16(POLLOUT) != 0 else { continue }
            guard let due = connections[index].due else {
                // Without a request, the event means that the server has closed the connection.
                try reopen(index)
                continue
            }
            if try connections[index].receive(into: &buffer) {
                let now = SteadyClock.now()
                outcome.latencies.append((now - due) * 1000)
                silentSince = now
                idle.append(index)
            }
        }
    }

    /// Replaces an idle connection that the server has closed.
    private mutating func reopen(_ index: Int) throws(BenchmarkError) {
        let connection = try HTTPLoadConnection(port: port)
        connections[index].close()
        connections[index] = connection
        polls[index].fd = connection.socket
    }
}
