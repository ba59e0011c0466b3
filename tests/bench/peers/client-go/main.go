// Command peer lets client-go do what sanskube-bench does, on the same files: fill an informer from a PodList, apply the events of a watch, and move
// keys through a work queue. It prints what sanskube-bench prints, in the same form.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "ingest":
		err = ingest(args[1], k8sruntime.ContentTypeJSON)
	case len(args) == 4 && args[0] == "ingest" && args[2] == "--format" && args[3] == "proto":
		err = ingest(args[1], k8sruntime.ContentTypeProtobuf)
	case len(args) == 3 && args[0] == "churn":
		err = churn(args[1], args[2])
	case len(args) == 1 && args[0] == "queue":
		err = queue()
	default:
		err = fmt.Errorf("usage: peer ingest LIST [--format proto] | churn LIST EVENTS | queue")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// informerOf is an informer of pods with the indexes that the ReplicaSet controller has, whose lists and watches are these.
func informerOf(list func() (*v1.PodList, error), events func() (watch.Interface, error)) cache.SharedIndexInformer {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (k8sruntime.Object, error) { return list() },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events() },
	}
	owner := func(object any) ([]string, error) {
		if ref := metav1.GetControllerOf(object.(*v1.Pod)); ref != nil {
			return []string{string(ref.UID)}, nil
		}
		return nil, nil
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "owner": owner}
	return cache.NewSharedIndexInformer(withoutStreams{lw}, &v1.Pod{}, 0, indexers)
}

// withoutStreams says that lists do not come as streams.
type withoutStreams struct{ *cache.ListWatch }

func (withoutStreams) IsWatchListSemanticsUnSupported() bool { return true }

func decode(data []byte, contentType string) (*v1.PodList, error) {
	info, ok := k8sruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	if !ok {
		return nil, fmt.Errorf("no decoder of %s", contentType)
	}
	object, err := k8sruntime.Decode(scheme.Codecs.DecoderToVersion(info.Serializer, v1.SchemeGroupVersion), data)
	if err != nil {
		return nil, err
	}
	return object.(*v1.PodList), nil
}

func ingest(file, contentType string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before := heap()
	start := time.Now()

	idle := func() (watch.Interface, error) { return watch.NewFake(), nil }
	informer := informerOf(func() (*v1.PodList, error) { return decode(data, contentType) }, idle)
	var told atomic.Int64
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { told.Add(1) }}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go informer.RunWithContext(ctx)
	for !registration.HasSynced() {
		time.Sleep(100 * time.Microsecond)
	}

	elapsed := time.Since(start).Seconds()
	objects := told.Load()
	peak := peakBytes()
	held := heap() - before
	fmt.Printf("client-go: %d objects, %.0f objects/s, %.1f MB/s, %d bytes an object, peak %d bytes an object\n",
		objects, float64(objects)/elapsed, float64(len(data))/1e6/elapsed, held/max(objects, 1), (peak-int64(len(data)))/max(objects, 1))
	runtime.KeepAlive(data)
	return nil
}

func churn(list, events string) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	lines, err := os.ReadFile(events)
	if err != nil {
		return err
	}
	wanted := int64(bytes.Count(lines, []byte("\n")))
	var started, ended atomic.Int64
	opened := false
	stream := func() (watch.Interface, error) {
		if opened {
			return watch.NewFake(), nil
		}
		opened = true
		started.Store(time.Now().UnixNano())
		info, _ := k8sruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), k8sruntime.ContentTypeJSON)
		body := k8sruntime.Framer(info.StreamSerializer.Framer).NewFrameReader(readCloser{bytes.NewReader(lines)})
		frames := streaming.NewDecoder(body, info.StreamSerializer.Serializer)
		objects := scheme.Codecs.DecoderToVersion(info.Serializer, v1.SchemeGroupVersion)
		return watch.NewStreamWatcher(restwatch.NewDecoder(frames, objects), reporter{}), nil
	}
	informer := informerOf(func() (*v1.PodList, error) { return decode(data, k8sruntime.ContentTypeJSON) }, stream)
	var told atomic.Int64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
		if told.Add(1) == wanted {
			ended.Store(time.Now().UnixNano())
		}
	}})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go informer.RunWithContext(ctx)
	for ended.Load() == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	elapsed := float64(ended.Load()-started.Load()) / 1e9
	fmt.Printf("client-go: %d pods, %.0f events/s\n", len(informer.GetStore().ListKeys()), float64(wanted)/elapsed)
	return nil
}

// queue moves keys through a queue, as many at once and as often as sanskube-bench does.
func queue() error {
	const keys, rounds = 10_000, 20
	names := make([]string, keys)
	for i := range names {
		names[i] = fmt.Sprintf("shop/web-%d", i)
	}
	measure := func(add func(workqueue.TypedRateLimitingInterface[string], string)) int64 {
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		start := time.Now()
		for range rounds {
			for _, name := range names {
				add(q, name)
			}
			for range names {
				key, _ := q.Get()
				q.Forget(key)
				q.Done(key)
			}
		}
		return time.Since(start).Nanoseconds() / (keys * rounds)
	}
	through := measure(func(q workqueue.TypedRateLimitingInterface[string], key string) { q.Add(key) })
	delayed := measure(func(q workqueue.TypedRateLimitingInterface[string], key string) { q.AddAfter(key, time.Millisecond) })
	fmt.Printf("client-go: %d ns add, get and done; %d ns delayed add, get and done\n", through, delayed)
	return nil
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// peakBytes is what was taken from the system so far.
func peakBytes() int64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapSys)
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

type reporter struct{}

func (reporter) AsObject(err error) k8sruntime.Object {
	return &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
}
