// The part of libnghttp2 that HeraldReceiver uses: Swift imports its enums as distinct types, but its functions take
// integers.
#ifndef HERALD_CNGHTTP2_H
#define HERALD_CNGHTTP2_H

#include <nghttp2/nghttp2.h>

static const uint8_t HERALD_H2_HEADERS = NGHTTP2_HEADERS;
static const uint8_t HERALD_H2_DATA = NGHTTP2_DATA;
static const uint8_t HERALD_H2_FLAG_END_STREAM = NGHTTP2_FLAG_END_STREAM;
static const uint8_t HERALD_H2_FLAG_NONE = NGHTTP2_FLAG_NONE;
static const uint32_t HERALD_H2_DATA_FLAG_EOF = NGHTTP2_DATA_FLAG_EOF;
static const uint32_t HERALD_H2_NO_ERROR = NGHTTP2_NO_ERROR;
static const uint32_t HERALD_H2_REFUSED_STREAM = NGHTTP2_REFUSED_STREAM;
static const uint32_t HERALD_H2_ENHANCE_YOUR_CALM = NGHTTP2_ENHANCE_YOUR_CALM;
// The stream's data follows later: nghttp2_session_resume_data.
static const long HERALD_H2_LATER = NGHTTP2_ERR_DEFERRED;

struct herald_h2_callbacks {
    nghttp2_on_begin_headers_callback begin;
    nghttp2_on_header_callback header;
    nghttp2_on_data_chunk_recv_callback data;
    nghttp2_on_frame_recv_callback frame;
    nghttp2_on_stream_close_callback close;
};

// A server session that has sent its settings, or NULL. `owner` is passed to all callbacks.
static inline nghttp2_session *herald_h2_new(
    const struct herald_h2_callbacks *callbacks, void *owner, uint32_t concurrent_streams, uint32_t header_bytes) {
    nghttp2_session_callbacks *list = NULL;
    nghttp2_session *session = NULL;
    if (nghttp2_session_callbacks_new(&list) != 0) return NULL;
    nghttp2_session_callbacks_set_on_begin_headers_callback(list, callbacks->begin);
    nghttp2_session_callbacks_set_on_header_callback(list, callbacks->header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(list, callbacks->data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(list, callbacks->frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(list, callbacks->close);
    int failed = nghttp2_session_server_new(&session, list, owner);
    nghttp2_session_callbacks_del(list);
    if (failed) return NULL;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, concurrent_streams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, header_bytes},
    };
    if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 2) != 0) {
        nghttp2_session_del(session);
        return NULL;
    }
    return session;
}

#endif
