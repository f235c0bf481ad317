import NIOCore

/// Wakes a connection at its deadline.
///
/// A deadline that moves away, as it does with every request, costs nothing: the connection is woken too early and asks again.
final class ConnectionTimer: NIOScheduledCallbackHandler {
    private var eventLoop: (any EventLoop)?
    private var action: (() -> Void)?
    private var scheduled: NIOScheduledCallback?
    private var scheduledAt = NIODeadline.distantFuture

    /// Sets what happens at a deadline.
    func start(context: ChannelHandlerContext, action: @escaping () -> Void) {
        eventLoop = context.eventLoop
        self.action = action
    }

    /// Makes sure that the action runs at or before an instant.
    func wake(at deadline: NIODeadline) {
        guard let eventLoop, scheduled == nil || deadline < scheduledAt else { return }
        scheduled?.cancel()
        scheduledAt = deadline
        do {
            scheduled = try eventLoop.assumeIsolated().scheduleCallback(at: deadline, handler: self)
        } catch {
            // Only an event loop that has been shut down refuses, and with it end all connections.
            scheduled = nil
        }
    }

    /// Runs nothing any more.
    func stop() {
        scheduled?.cancel()
        scheduled = nil
        action = nil
        eventLoop = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        scheduled = nil
        action?()
    }
}
